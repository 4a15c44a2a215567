"""What a loader reads: rows of a dataset or table, and what a state must agree with."""
