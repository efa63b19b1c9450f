"""What anybody can check later: one written form, signatures, a chained log, a tree of bids."""
