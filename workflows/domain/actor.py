"""Who did something."""

from workflows.domain.value import Value


class Actor(Value):
    """`subject` is authenticated (`user@host` for the command line, or `worker`)."""

    subject: str
    method: str
