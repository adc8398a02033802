"""Who did something."""

from workflows.domain.value import Value


class Actor(Value):
    """Who did it: `subject` is the authenticated one (`user@host` for the command line, or `worker`)."""

    subject: str
    method: str
