"""How people see a call: what its tool says of it, stored with the call."""

from enum import StrEnum

from workflows.domain.value import Value


class DisplayKind(StrEnum):
    READ = "read"  # reads or searches: its arguments fit on a line
    EDIT = "edit"  # changes a file: its diff is shown
    EXECUTE = "execute"  # runs a command: its output and exit code are shown
    DELEGATE = "delegate"  # has a subagent work: its cost is shown
    INVALID = "invalid"  # is none that could be made: its error is shown
    OTHER = "other"


class CallDisplay(Value):
    """`verb`: the agent wants to … in a directory. The others name arguments, as the model does: `subject` says what
    the call is about, and rules match it; `heading` are shown first, on one line; `name` is the model's own name for
    the tool."""

    kind: DisplayKind = DisplayKind.OTHER
    verb: str = "act"
    subject: str | None = None
    heading: tuple[str, ...] = ()
    name: str | None = None
