"""What an owner holds and keeps: samples and distributions, how several are aggregated, and how they are read."""
