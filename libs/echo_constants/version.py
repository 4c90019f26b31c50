"""The version of the suite. pyproject.toml repeats it; a contract test holds the two together."""

ECHO_VERSION = "0.1.0"
