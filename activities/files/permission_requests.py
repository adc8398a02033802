"""The permission requests of file tools: first for an outside directory, then for the file."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain
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


def edit_requests(
    files: Sequence[LocatedPath], workspace: Workspace, shown: Mapping[str, JsonValue]
) -> tuple[PermissionRequest, ...]:
    """One for all files, which are changed together. Protected and unclear paths ask even where edits are allowed.
    `shown`: to a person, with the paths."""
    cautions = dict.fromkeys(caution for each in files if (caution := _find_caution(each)) is not None)
    guarded = bool(cautions) or any(paths.is_protected(each.path, workspace.home) for each in files)
    always = [_savable(_always_edited(each, workspace)) for each in files]
    metadata: dict[str, JsonValue] = {"filepath": ", ".join(str(each.path) for each in files), **shown}
    own = PermissionRequest(
        permission=permission_keys.EDIT,
        patterns=tuple(workspace.relative(each.path) for each in files),
        always=tuple(dict.fromkeys(chain(*always))) if all(always) and not guarded else (),
        metadata=metadata | ({"caution": " ".join(cautions)} if cautions else {}),
        guarded=guarded,
    )
    outside = {each.patterns: each for file in files for each in external_requests(file, workspace)}
    return (*outside.values(), own)


def _always_edited(located: LocatedPath, workspace: Workspace) -> str:
    secret = paths.may_hold_secrets(located.path)
    return workspace.relative(located.path) if secret else _always_pattern(located, workspace, "**")


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
