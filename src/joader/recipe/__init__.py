"""What is done to a row: its shared and own parts, its randomness, and the name that identifies it.

Not here: who does it (workers), how it is stored (memory).
"""
