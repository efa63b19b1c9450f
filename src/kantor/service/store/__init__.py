"""Where a market is kept: SQLite in a file, or PostgreSQL by its address."""
