"""What the worker cannot do, told in the log and, for requests, in OpenAI's error shape."""


class CheckpointUnfit(Exception):
    """A model file is missing, damaged or of another architecture; the text says which and why."""
