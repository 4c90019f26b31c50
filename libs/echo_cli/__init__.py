"""echoctl, the command line."""
