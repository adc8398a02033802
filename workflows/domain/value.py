"""The root of our frozen models."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable value: compared by content, refuses unknown fields.

    Its validator is built when it is first needed: a command meets a few of our hundred and fifty kinds of values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def build_all(kind: type[Value] = Value) -> None:
    """Build every kind of value that is known by now, as a process wants that lives long and has no time later."""
    for each in kind.__subclasses__():
        each.model_rebuild()
        build_all(each)
