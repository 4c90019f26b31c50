"""What the simulator does with a request; no HTTP types."""
