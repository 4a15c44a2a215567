"""What comes next: drawn by the daemon or given by a sampler, and what was yielded of it."""
