"""RefusedAgent: an agent's file that cannot be used."""

from workflows.domain.value import Value


class RefusedAgent(Value):
    """No agent has these names until the file is fixed, not even a built-in one: a rule of the file may be about it.
    `why` begins with the file, and the line if it is known."""

    names: tuple[str, ...]
    why: str
