"""The running market: its life, its storage, its HTTP interface, and the agents that talk to it."""
