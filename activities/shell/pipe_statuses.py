"""The exit codes of a command's last pipeline where it ends in `head` or `tail`, whose own code hides the others."""

import re
import shlex
from typing import Final

from activities.shell.lease import CallDirectory

_HIDES: Final = re.compile(r"\|&?\s*(?:head|tail)\b(?:[^|;&\n]|(?<=[<>])&|&(?=>))*$")
_STATUSES: Final = "statuses"
_NO_FAILURES: Final = {"0", "141"}  # 141: by SIGPIPE, as its reader has ended


def record_statuses(command: str, directory: CallDirectory) -> dict[str, str]:
    """Variables that have the command's shell write them down as it ends. How the command runs stays as it is."""
    if not _HIDES.search(command.rstrip()):
        return {}
    directory.create()
    script, file = directory.path / "bash_env", shlex.quote(str(directory.path / _STATUSES))
    write = f'{{ builtin echo "${{PIPESTATUS[@]}}" >{file}; }} 2>/dev/null || :'
    script.write_text(f"trap {shlex.quote(write)} EXIT; unset BASH_ENV\n")
    return {"BASH_ENV": str(script)}


def hidden_failure(directory: CallDirectory) -> str | None:
    """The codes, such as `1 | 0`, if one that its last program hides is a failure."""
    try:
        codes = [each for each in (directory.path / _STATUSES).read_text("ascii").split() if each.isdigit()]
    except (OSError, ValueError):  # there is none, or the command has written there
        return None
    return " | ".join(codes) if {*codes[:-1]} - _NO_FAILURES else None
