"""Permission requests of calls."""

from pydantic import JsonValue

from workflows.domain.value import Value


class PermissionRequest(Value):
    """What a call needs permitted, in OpenCode's form (opencode.md 2.4).

    `patterns`: the subjects as clients show them. `spellings`: further forms of each, matched too: the stricter verdict
    counts. `always`: the widest that an "always" may save; `withheld`: those that no grant may hold (`/`, the home
    directory). `opaque`: why a subject is not fully understood; asks even where a rule allows, unless no rule protects
    anything (security.md 2.3, 9). `guarded`: asks wherever a rule allows, and no grant covers it (a protected path, a
    command that reaches a device).

    `required_words`: per subject, the words that an allow must name (`clean` of `git clean`, `-delete` of `find`;
    security.md 2.4). `changes`: the command is not known to only read.
    """

    permission: str
    patterns: tuple[str, ...]
    spellings: tuple[tuple[str, ...], ...] = ()
    required_words: tuple[tuple[str, ...], ...] = ()
    always: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = {}
    opaque: str | None = None
    guarded: bool = False
    changes: bool = False


class PermissionAsk(Value):
    """The body of an ask of the kind permission: the requests of a call that one answer decides on."""

    requests: tuple[PermissionRequest, ...]
