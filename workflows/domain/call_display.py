"""How people see a call."""

from enum import StrEnum
from typing import Final

from workflows.domain.value import Value

TODO_BOXES: Final = {"pending": "[ ]", "completed": "[x]", "in_progress": "[~]", "cancelled": "[-]"}


class DisplayKind(StrEnum):
    READ = "read"  # reads or searches: arguments fit on a line
    EDIT = "edit"  # its diff is shown
    EXECUTE = "execute"  # its output and exit code are shown
    DELEGATE = "delegate"  # its cost is shown
    WAIT = "wait"  # what it waits for is shown
    QUESTION = "question"  # its questions and answers are shown
    INVALID = "invalid"  # its error is shown
    OTHER = "other"

    @property
    def runs_elsewhere(self) -> bool:
        """Whether nothing of the call runs until its end is recorded: each look at it is another attempt."""
        return self in (DisplayKind.DELEGATE, DisplayKind.WAIT)


class CallDisplay(Value):
    """Stored with the call. `verb`: the agent wants to … in a directory. The others name arguments: `subject` is what
    the call is about, and rules match it; `heading` are shown first, on one line; `name` is the model's name for the
    tool. `about`: what the call is about, where no argument says it. `mended`: the arguments were no JSON as the model
    wrote them."""

    kind: DisplayKind = DisplayKind.OTHER
    verb: str = "act"
    subject: str | None = None
    heading: tuple[str, ...] = ()
    name: str | None = None
    about: str = ""
    mended: bool = False
