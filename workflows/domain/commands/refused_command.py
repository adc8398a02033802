"""RefusedCommand: a command's file that cannot be used."""

from workflows.domain.value import Value


class RefusedCommand(Value):
    """`why` begins with the file, and the line if it is known."""

    name: str
    why: str
