"""The database: all SQL lives here, and nowhere else."""
