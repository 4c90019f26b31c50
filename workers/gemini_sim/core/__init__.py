"""What the simulated server knows and decides; no sockets, no clock."""
