"""RefusedAgent: an agent's file that cannot be used."""

from workflows.domain.value import Value


class RefusedAgent(Value):
    """There is no agent of these names until the file is mended, not even a built-in one: it may be what a rule of the
    file is about. `why` begins with the file, and the line if it is known."""

    names: tuple[str, ...]
    why: str
