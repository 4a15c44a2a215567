"""How batches come: from the daemon, its workers, the job itself or torch's own loader."""
