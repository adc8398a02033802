"""Permissions of a resolved path: outside the project, protected, or secret."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Final

from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.requests import PermissionRequest

_ENVIRONMENT_FILE: Final = re.compile(r".*\.env|.*\.env\..*", re.IGNORECASE)
_ENVIRONMENT_EXAMPLE: Final = ".env.example"

# Security.md 6.3: what others run, or what changes our behaviour. Files, and directories with all below.
_FILES: Final = """.git .gitattributes .gitmodules opencode.json opencode.jsonc agents.md claude.md .mcp.json
    .gitlab-ci.yml .envrc .npmrc .pypirc .pre-commit-config.yaml .bashrc .bash_profile .bash_login .bash_logout
    .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .gitconfig"""
_DIRECTORIES: Final = ".git .opencode .claude .agents .vscode .idea .husky .ssh"
_PROTECTED_FILES: Final = frozenset(_FILES.split())
_PROTECTED_DIRECTORIES: Final = frozenset(_DIRECTORIES.split())
_CONFIGURATION: Final = ".opencode"
_PLAN_FILE: Final = re.compile(r".*/\.opencode/plans?/[^/]+\.md", re.DOTALL)  # read by people and models, not by us
_PROTECTED_SYSTEM: Final = ("/etc/cron*", "/etc/profile*", "/etc/bash*", "/etc/zsh*", "/var/spool/cron")


def is_outside(path: Path, directory: Path, worktree: Path | None) -> bool:
    """Whether a path is outside the project; a work tree of `/` does not count."""
    roots = [directory] if worktree is None or worktree == Path("/") else [directory, worktree]
    return not any(path.is_relative_to(root) for root in roots)


def external_pattern(directory: Path) -> str:
    """The pattern of a question about a directory outside the project."""
    return f"{str(directory).rstrip('/')}/*"


def external_request(
    path: Path, *, is_directory: bool, directory: Path, worktree: Path | None, home: Path
) -> PermissionRequest | None:
    """The request for a resolved path outside the project; None inside (opencode.md 2.7)."""
    if not is_outside(path, directory, worktree):
        return None
    parent = path if is_directory else path.parent
    pattern = external_pattern(parent)
    return PermissionRequest(
        permission=permission_keys.EXTERNAL_DIRECTORY,
        patterns=(pattern,),
        always=(pattern,),
        withheld=ungrantable_patterns([parent], directory=directory, home=home),
        metadata={"filepath": str(path), "parentDir": str(parent)},
    )


def ungrantable_patterns(directories: Iterable[Path], *, directory: Path, home: Path) -> tuple[str, ...]:
    """Patterns that no grant may hold: `/`, the home directory, and ancestors of the project or home."""
    return tuple(
        external_pattern(each) for each in directories if directory.is_relative_to(each) or home.is_relative_to(each)
    )


def is_protected(path: PurePath, home: PurePath) -> bool:
    """Whether writing this resolved path asks even where edits are allowed; it need not exist."""
    names = [part.casefold() for part in path.parts]
    if _PLAN_FILE.fullmatch("/".join(names)) and names.count(_CONFIGURATION) == 1:
        names.remove(_CONFIGURATION)
    places = [*path.parents, path]
    return (
        any(_is_one_of(name, _PROTECTED_DIRECTORIES) for name in names)
        or (_is_one_of(names[-1], _PROTECTED_FILES) or names[-1].startswith(".yarnrc"))
        or any(pair == (".github", "workflows") for pair in zip(names, names[1:], strict=False))
        or home / ".config" in places
        or any(place.match(pattern) for place in places for pattern in _PROTECTED_SYSTEM)
    )


def _is_one_of(name: str, protected: frozenset[str]) -> bool:
    """`name` may hold `*` for an unknown part."""
    if "*" in name and name.startswith("."):
        return any(fnmatchcase(each, name) for each in protected)
    return name in protected


def may_hold_secrets(path: PurePath) -> bool:
    """Whether it is a file of secrets by OpenCode's default rules (`.env` and its like)."""
    name = path.name.casefold()
    return _ENVIRONMENT_FILE.fullmatch(name) is not None and not name.endswith(_ENVIRONMENT_EXAMPLE)
