"""What a training script sees: its loader, and what the loader knows about its dataset."""
