"""Sealed bids: every check is shown a fault that it must find."""
