"""Where ECHO keeps its files."""
