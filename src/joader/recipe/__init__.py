"""What is done to a row: its parts (shared, own), its randomness, and the name that makes it equal.

Not here: who does it (workers), how it is stored (memory).
"""
