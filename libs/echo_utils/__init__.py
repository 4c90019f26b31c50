"""Small pure helpers that need nothing else."""
