"""Computing distances without showing the data."""
