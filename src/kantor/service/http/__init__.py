"""The market over HTTP: requests in, outcomes out. Nothing is decided here."""
