"""Sealed bids: a key whose secret no one has, and envelopes that trustees open together after the market has closed."""
