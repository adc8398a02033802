"""The environment of commands, from an allow-list."""

import os
import posixpath
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

from activities.files.workspace import Workspace

CALL_VARIABLE: Final = "HOLDFAST_CALL_ID"

_STANDARD_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENTS: Final = ("VIRTUAL_ENV", "CONDA_PREFIX")
_INHERITED: Final = ("USER", "LOGNAME", "LANG", "LC_*", "TZ")


def git_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Git settings as variables, which no file overrides."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables


# A repository's own configuration can name programs (security.md 2.4). Here git ignores bare repositories checked out
# as files (git 2.38 and newer), and runs no file system monitor.
_EVERY_GIT: Final = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}
_FIXED: Final = {
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "LESSSECURE": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # a reading command does not write the index, which would run a hook
    **git_settings(_EVERY_GIT),
}
# For commands that only read with git. No setting switches off `diff.external` and `textconv`: the analysis looks for
# them.
READ_ONLY_GIT: Final = git_settings({**_EVERY_GIT, "core.hooksPath": "/dev/null"})


def tool_environment(shell: Mapping[str, str], workspace: Workspace, call: str) -> dict[str, str]:
    """The environment of a command, from that of the shell that started the session."""
    path = _search_path(shell, str(workspace.root))
    return {**session_environment(shell), **own_variables(workspace), "PATH": path, **_FIXED, CALL_VARIABLE: call}


def own_variables(workspace: Workspace) -> dict[str, str]:
    """HOME and TMPDIR, set by us, so that the analysis knows them. TMPDIR is made here, where the built-in rules ask
    nothing, unless another user has that directory."""
    tryouts = workspace.temporary / "opencode"
    with suppress(OSError):
        tryouts.mkdir(mode=0o700, exist_ok=True)
    ours = tryouts.exists() and tryouts.lstat().st_uid == os.geteuid()
    return {"HOME": str(workspace.home), "TMPDIR": str(tryouts if ours else workspace.temporary)}


def session_environment(shell: Mapping[str, str]) -> dict[str, str]:
    """The recorded part of the starting shell's environment."""
    wanted = ("PATH", *_INHERITED, *_ENVIRONMENTS)
    return {name: value for name, value in shell.items() if any(fnmatchcase(name, each) for each in wanted)}


def _search_path(shell: Mapping[str, str], workspace: str) -> str:
    """The PATH without directories in the workspace, except an active virtual environment."""
    active = [_plain(shell[name]) + "/bin" for name in _ENVIRONMENTS if posixpath.isabs(shell.get(name, ""))]
    entries = [_plain(entry) for entry in shell.get("PATH", "").split(":") if posixpath.isabs(entry)]
    kept = [entry for entry in entries if entry in active or not _reaches_into(workspace, entry)]
    return ":".join(kept) or _STANDARD_PATH


def _reaches_into(workspace: str, entry: str) -> bool:
    """Whether a path leads into a directory, by name or through links."""
    places = (entry, posixpath.realpath(entry))
    roots = (_plain(workspace), posixpath.realpath(workspace))
    return any(posixpath.commonpath((place, root)) == root for place in places for root in roots)


def _plain(path: str) -> str:
    return "/" + posixpath.normpath(path).strip("/")
