"""What the worker reads and computes; no sockets."""
