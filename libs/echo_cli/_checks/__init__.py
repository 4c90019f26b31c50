"""What `echoctl doctor` looks at: one module an area. `registry` imports them all, this package none."""
