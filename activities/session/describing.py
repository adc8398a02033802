"""What the stock Temporal UI may say of a call: its tool and what it is about, redacted and cut short."""

from collections.abc import Callable
from typing import Final, TypeAlias

from activities.redact import Redactor
from activities.store.calls import CallRow

Describe: TypeAlias = Callable[[CallRow], str | None]

LONGEST: Final = 100  # characters (design 2)
_TELLING: Final = ("command", "filePath", "pattern", "url", "description")  # arguments that say what a call is about


def nothing(_: CallRow) -> None:
    """Say no more than names: for a Temporal that others can look into."""
    return


def in_full(redactor: Redactor) -> Describe:
    """Say what a call is about: for a Temporal whose file is as private as the database."""

    def describe(call: CallRow) -> str | None:
        told = next((str(call.arguments[name]) for name in _TELLING if name in call.arguments), "")
        words = "".join(character if character.isprintable() else " " for character in redactor.text(told))
        return f"{call.tool}: {words}"[:LONGEST]

    return describe
