"""How the reading process says that it cannot go on."""


class Refused(Exception):
    """Ends the reading; becomes one of `echo_ingestion.errors`.

    Args:
        code: of the error.
        fields: of its message.
    """

    def __init__(self, code: str, **fields: object) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


def damaged(kind: str) -> Refused:
    """The file breaks its own format."""
    return Refused("document_damaged", kind=kind)
