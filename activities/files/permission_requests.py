"""The permission requests of file tools: first for an outside directory, then for the file."""

import unicodedata
from typing import Final

from pydantic import JsonValue

from activities.files.locate import LocatedPath, PathKind
from activities.files.workspace import Workspace
from workflows.domain.permissions import paths, permission_keys
from workflows.domain.permissions.requests import PermissionRequest

_PATTERN_CHARACTERS: Final = frozenset("*?\\")  # a name with one cannot be saved as a pattern
_INVISIBLE_CATEGORIES: Final = frozenset(("Cc", "Cf", "Zl", "Zp"))  # control, format, line and paragraph separators


def is_outside(located: LocatedPath, workspace: Workspace) -> bool:
    """Nothing about a path outside the project is revealed before it is allowed."""
    return paths.is_outside(located.path, workspace.directory, workspace.worktree)


def external_requests(located: LocatedPath, workspace: Workspace) -> tuple[PermissionRequest, ...]:
    request = paths.external_request(
        located.path,
        is_directory=located.kind is PathKind.DIRECTORY,
        directory=workspace.directory,
        worktree=workspace.worktree,
        home=workspace.home,
    )
    return (request,) if request else ()


def read_requests(located: LocatedPath, workspace: Workspace) -> tuple[PermissionRequest, ...]:
    """An "always" saves the directory, of a guarded file only the file."""
    subject = workspace.relative(located.path)
    always = subject if paths.may_hold_secrets(located.path) else _always_pattern(located, workspace, "*")
    own = PermissionRequest(permission=permission_keys.READ, patterns=(subject,), always=_savable(always))
    return (*external_requests(located, workspace), own)


def edit_requests(located: LocatedPath, workspace: Workspace, diff: str) -> tuple[PermissionRequest, ...]:
    """Protected and unclear paths ask even where edits are allowed."""
    subject = workspace.relative(located.path)
    always = subject if paths.may_hold_secrets(located.path) else _always_pattern(located, workspace, "**")
    caution = _find_caution(located)
    guarded = caution is not None or paths.is_protected(located.path, workspace.home)
    metadata: dict[str, JsonValue] = {"filepath": str(located.path), "diff": diff}
    own = PermissionRequest(
        permission=permission_keys.EDIT,
        patterns=(subject,),
        always=() if guarded else _savable(always),
        metadata=metadata | ({"caution": caution} if caution else {}),
        guarded=guarded,
    )
    return (*external_requests(located, workspace), own)


def _always_pattern(located: LocatedPath, workspace: Workspace, below: str) -> str:
    folder = located.path if located.kind is PathKind.DIRECTORY else located.path.parent
    if folder in (workspace.directory, workspace.root) or is_outside(located, workspace):
        return workspace.relative(located.path)
    return f"{workspace.relative(folder)}/{below}"


def _savable(pattern: str) -> tuple[str, ...]:
    name = pattern.removesuffix("/**").removesuffix("/*")
    return () if _PATTERN_CHARACTERS.intersection(name) else (pattern,)


def _find_caution(located: LocatedPath) -> str | None:
    if any(unicodedata.category(character) in _INVISIBLE_CATEGORIES for character in str(located.path)):
        return "The path holds characters that cannot be seen."
    if located.hard_links > 1:
        return f"The file has {located.hard_links} names (hard links); the change is made under this name only."
    return None
