"""What the paper leaves open, measured in the form of its figures."""
