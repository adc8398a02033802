"""What a path means for permissions: outside the project, protected, guarded; pure, on resolved paths."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Final

from workflows.domain.permissions.requests import PermissionRequest

_GUARDED: Final = re.compile(r".*\.env|.*\.env\..*", re.IGNORECASE)
_PLAIN: Final = ".env.example"

# Security.md 6.3: what others run, or what changes how we behave. Names of files, and of directories with all below.
_FILES: Final = """.git .gitattributes .gitmodules opencode.json opencode.jsonc agents.md claude.md .mcp.json
    .gitlab-ci.yml .envrc .npmrc .pypirc .pre-commit-config.yaml .bashrc .bash_profile .bash_login .bash_logout
    .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .gitconfig"""
_DIRECTORIES: Final = ".git .opencode .claude .vscode .idea .husky .ssh"
_PROTECTED_FILES: Final = frozenset(_FILES.split())
_PROTECTED_DIRECTORIES: Final = frozenset(_DIRECTORIES.split())
_PROTECTED_SYSTEM: Final = ("/etc/cron*", "/etc/profile*", "/etc/bash*", "/etc/zsh*", "/var/spool/cron")


def outside(path: Path, directory: Path, worktree: Path | None) -> bool:
    """Whether a resolved path lies outside the project; a work tree of `/` counts for nothing."""
    roots = [directory] if worktree is None or worktree == Path("/") else [directory, worktree]
    return not any(path.is_relative_to(root) for root in roots)


def external_pattern(directory: Path) -> str:
    """The pattern under which a directory outside the project is asked about."""
    return f"{str(directory).rstrip('/')}/*"


def external_request(
    path: Path, *, is_directory: bool, directory: Path, worktree: Path | None, home: Path
) -> PermissionRequest | None:
    """The request for a resolved path outside the project; None inside (opencode.md 2.7)."""
    if not outside(path, directory, worktree):
        return None
    parent = path if is_directory else path.parent
    pattern = external_pattern(parent)
    return PermissionRequest(
        permission="external_directory",
        patterns=(pattern,),
        always=(pattern,),
        withheld=withheld([parent], directory=directory, home=home),
        metadata={"filepath": str(path), "parentDir": str(parent)},
    )


def withheld(directories: Iterable[Path], *, directory: Path, home: Path) -> tuple[str, ...]:
    """The patterns that no grant may hold: `/`, the home directory, and what contains the project or the home."""
    return tuple(
        external_pattern(each) for each in directories if directory.is_relative_to(each) or home.is_relative_to(each)
    )


def protected(path: PurePath, home: PurePath) -> bool:
    """Whether writing this resolved path asks even where edits are allowed, whether or not it exists yet."""
    names = [part.casefold() for part in path.parts]
    places = [*path.parents, path]
    return (
        any(_is_one_of(name, _PROTECTED_DIRECTORIES) for name in names)
        or (_is_one_of(names[-1], _PROTECTED_FILES) or names[-1].startswith(".yarnrc"))
        or any(pair == (".github", "workflows") for pair in zip(names, names[1:], strict=False))
        or home / ".config" in places
        or any(place.match(pattern) for place in places for pattern in _PROTECTED_SYSTEM)
    )


def _is_one_of(name: str, protected: frozenset[str]) -> bool:
    """Whether a name is, or with `*` for an unknown part of a hidden file's name may be, one of these."""
    if "*" in name and name.startswith("."):
        return any(fnmatchcase(each, name) for each in protected)
    return name in protected


def guarded(path: PurePath) -> bool:
    """Whether the name is that of a file with secrets in OpenCode's default rules (`.env` and its like)."""
    name = path.name.casefold()
    return _GUARDED.fullmatch(name) is not None and not name.endswith(_PLAIN)
