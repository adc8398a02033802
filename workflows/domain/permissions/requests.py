"""A permission request: one permission, its subjects, and what "always" would save."""

from pydantic import JsonValue

from workflows.domain.value import Value


class PermissionRequest(Value):
    """What a call needs permitted, in OpenCode's form (opencode.md 2.4).

    `patterns` are the subjects as clients show them. `spellings` are further forms of the subjects (decoded
    words of a command) which are matched too: the stricter verdict counts. `always` is the widest that an
    "always" may save, empty when nothing may be saved; `withheld` are those of them that OpenCode's clients are
    shown but that no grant may hold (`/`, the home directory). `opaque` says why a subject is not fully understood:
    it then asks even where a rule allows, unless no rule protects anything (security.md 2.3, 9). `guarded` asks
    wherever a rule allows, and no grant covers it (a protected path, a command that reaches a device).

    For each subject `marks` are the words that an allow has to name, because breadth does not imply them (`clean` of
    `git clean`, `-delete` of `find`; security.md 2.4). `changes` says that a command is not known as only reading.
    """

    permission: str
    patterns: tuple[str, ...]
    spellings: tuple[tuple[str, ...], ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()
    always: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = {}
    opaque: str | None = None
    guarded: bool = False
    changes: bool = False
