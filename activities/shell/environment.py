"""The environment of commands, from an allow-list: nothing else of ours or of the user's shell reaches them."""

import posixpath
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from activities.files.place import Place

CALL_VARIABLE: Final = "HOLDFAST_CALL_ID"

_STANDARD_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENTS: Final = ("VIRTUAL_ENV", "CONDA_PREFIX")
_INHERITED: Final = ("USER", "LOGNAME", "LANG", "LC_*", "TZ")


def git_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables that give git settings which no file overrides."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables


# A repository's own configuration can name programs (security.md 2.4). Every command's git takes no directory for a
# repository just because one was checked out there (git 2.38 and newer), and asks no program which files have changed.
_EVERY_GIT: Final = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}
_FIXED: Final = {
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "LESSSECURE": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # what reads does not write an index, which would run a hook
    **git_settings(_EVERY_GIT),
}
# For commands that only read with git. What no setting can switch off (`diff.external`, `textconv`) is looked for when
# the command is judged.
READING_GIT: Final = git_settings({**_EVERY_GIT, "core.hooksPath": "/dev/null"})
# Whoever lists them: they reach our stores or make harmless programs run other code (security.md 10.1).
_NEVER: Final = (
    *("DATABASE_URL", "PG*", "TEMPORAL_*", "HOLDFAST_*"),
    *("BASH_ENV", "ENV", "SHELLOPTS", "PS4", "CDPATH", "IFS", "LD_*", "GIT_*", "PYTHON*", "NODE_OPTIONS", "LESSOPEN"),
    *("BASH_FUNC_*", "BASHOPTS"),
)


def tool_environment(
    shell: Mapping[str, str], place: Place, call: str, listed: Iterable[str] = (), secret: Iterable[str] = ()
) -> dict[str, str]:
    """What a command of `call` gets, from the recorded environment of the shell that started the session.

    `listed` are further names that the user wants passed on (security.md 10.1), `secret` those of provider keys,
    which are not passed on even then.
    """
    wanted = (*_INHERITED, *_ENVIRONMENTS, *listed)
    withheld = (*_NEVER, *secret)
    inherited = {name: value for name, value in shell.items() if _any(name, wanted) and not _any(name, withheld)}
    path = _search_path(shell, str(place.root))
    return {**inherited, **own_variables(place), "PATH": path, **_FIXED, CALL_VARIABLE: call}


def own_variables(place: Place) -> dict[str, str]:
    """The variables that say where a command keeps things: set by us, so that its analysis knows their values."""
    return {"HOME": str(place.home), "TMPDIR": str(place.temporary)}


def recorded(shell: Mapping[str, str]) -> dict[str, str]:
    """What is kept of the environment of the shell that starts a session: what its commands may get, and no more."""
    wanted = ("PATH", *_INHERITED, *_ENVIRONMENTS)
    return {name: value for name, value in shell.items() if _any(name, wanted) and not _any(name, _NEVER)}


def _search_path(shell: Mapping[str, str], workspace: str) -> str:
    """The shell's own, without what the workspace could put programs into; an active virtual environment stays."""
    active = [_plain(shell[name]) + "/bin" for name in _ENVIRONMENTS if posixpath.isabs(shell.get(name, ""))]
    entries = [_plain(entry) for entry in shell.get("PATH", "").split(":") if posixpath.isabs(entry)]
    kept = [entry for entry in entries if entry in active or not _reaches_into(workspace, entry)]
    return ":".join(kept) or _STANDARD_PATH


def _reaches_into(workspace: str, entry: str) -> bool:
    """Whether `entry` lies in the workspace by its name, or where its links lead."""
    places = (entry, posixpath.realpath(entry))
    return any(posixpath.commonpath((place, root)) == root for place in places for root in _names(workspace))


def _names(workspace: str) -> tuple[str, str]:
    return _plain(workspace), posixpath.realpath(workspace)


def _plain(path: str) -> str:
    return "/" + posixpath.normpath(path).strip("/")


def _any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
