"""HTTP endpoints of the embedding worker."""
