"""The base of our frozen models."""

from pydantic import BaseModel, ConfigDict

from workflows.domain.hash_chain import LogPosition


class Value(BaseModel):
    """An immutable value: compared by content, refuses unknown fields.

    Validators are built at first use: a command needs few of our 150 classes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class WireValue(Value):
    """Crosses between releases: ignores fields that a newer one has added."""

    model_config = ConfigDict(extra="ignore")


class Result(WireValue):
    """What an activity of a session returns; `seen`: the newest event of the session's log that it has seen."""

    seen: LogPosition = LogPosition()


def build_models(package: str, kind: type[Value] = Value) -> None:
    """Build the validators of all imported classes of a package."""
    for each in kind.__subclasses__():
        if each.__module__.startswith(f"{package}."):
            each.model_rebuild()
        build_models(package, each)
