"""What file tools need permitted: the directory outside the project first, then the file itself."""

import unicodedata
from typing import Final

from pydantic import JsonValue

from activities.files.locate import Kind, Located
from activities.files.place import Place
from workflows.domain.permissions import paths
from workflows.domain.permissions.requests import PermissionRequest

_PATTERN_CHARACTERS: Final = frozenset("*?\\")  # mean something in a saved pattern, so such a name is not saved
_UNSEEN: Final = frozenset(("Cc", "Cf", "Zl", "Zp"))  # control and format characters, line and paragraph ends


def outside(located: Located, place: Place) -> bool:
    """Whether the path lies outside the project, so that nothing about it is told before a yes."""
    return paths.outside(located.path, place.directory, place.worktree)


def external(located: Located, place: Place) -> tuple[PermissionRequest, ...]:
    """The request for a path outside the project; none inside."""
    request = paths.external_request(
        located.path,
        is_directory=located.kind is Kind.DIRECTORY,
        directory=place.directory,
        worktree=place.worktree,
        home=place.home,
    )
    return (request,) if request else ()


def reading(located: Located, place: Place) -> tuple[PermissionRequest, ...]:
    """What reading this file or directory needs; "always" saves its directory, for a guarded file only itself."""
    subject = place.relative(located.path)
    always = subject if paths.guarded(located.path) else _widest(located, place, "*")
    own = PermissionRequest(permission="read", patterns=(subject,), always=_saved(always))
    return (*external(located, place), own)


def changing(located: Located, place: Place, diff: str) -> tuple[PermissionRequest, ...]:
    """What writing this file needs; what is protected or unclear asks even where edits are allowed."""
    subject = place.relative(located.path)
    always = subject if paths.guarded(located.path) else _widest(located, place, "**")
    caution = _caution(located)
    guarded = caution is not None or paths.protected(located.path, place.home)
    metadata: dict[str, JsonValue] = {"filepath": str(located.path), "diff": diff}
    own = PermissionRequest(
        permission="edit",
        patterns=(subject,),
        always=() if guarded else _saved(always),
        metadata=metadata | ({"caution": caution} if caution else {}),
        guarded=guarded,
    )
    return (*external(located, place), own)


def _widest(located: Located, place: Place, below: str) -> str:
    """The directory in which the file lies, unless that is the whole project or outside it: then only the file."""
    folder = located.path if located.kind is Kind.DIRECTORY else located.path.parent
    if folder in (place.directory, place.root) or outside(located, place):
        return place.relative(located.path)
    return f"{place.relative(folder)}/{below}"


def _saved(pattern: str) -> tuple[str, ...]:
    name = pattern.removesuffix("/**").removesuffix("/*")
    return () if _PATTERN_CHARACTERS.intersection(name) else (pattern,)


def _caution(located: Located) -> str | None:
    if any(unicodedata.category(character) in _UNSEEN for character in str(located.path)):
        return "The path holds characters that cannot be seen."
    if located.links > 1:
        return f"The file has {located.links} names (hard links); the change is made under this name only."
    return None
