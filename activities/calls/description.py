"""A call's label in the stock Temporal UI, redacted and cut short."""

from collections.abc import Callable
from typing import Final, TypeAlias

from activities.redact import Redactor
from activities.store.calls import CallRow

CallDescriber: TypeAlias = Callable[[CallRow], str | None]

MAX_DESCRIPTION_CHARS: Final = 100  # characters (design 2)


def describe_nothing(_: CallRow) -> None:
    """Show names only: for a Temporal that others can read."""
    return


def describe_fully(redactor: Redactor) -> CallDescriber:
    """Show the subject: for a Temporal whose file is as private as the database."""

    def describe(call: CallRow) -> str | None:
        argument = call.display.about or str(call.arguments.get(call.display.subject or "", ""))
        words = "".join(character if character.isprintable() else " " for character in redactor.text(argument))
        return f"{call.tool}: {words}"[:MAX_DESCRIPTION_CHARS]

    return describe
