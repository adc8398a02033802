"""Devices and processes that a text names, whether or not they exist here."""

import re
from typing import Final

from activities.shell.analysis.program import ShellProgram

_HARMLESS: Final = ("null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr")
HARMLESS_DEVICES: Final = frozenset(f"/dev/{name}" for name in _HARMLESS)  # for who only reads and writes them
# An absolute path, also after an option (`-o/dev/sda`), a possibly empty variable, or a substitution that may print
# nothing. Not `src/dev/x` or `http://dev/x`; `/dev/p` and `/proc/ {` are mostly sed and awk patterns.
_HOST: Final = r"(?<!http:)(?<!https:)(?<!ftp:)(?<!git:)(?<!ssh:)"
_BEFORE: Final = rf"(?:^|[^\w.~/*?\]}}-]{_HOST}|(?<!\S)-\w+|\$\w+|\$\{{[^}}]*\}}|file://[^/\s]*)/+(?:\.{{1,2}}/+)*"
_OTHERS: Final = rf"(?!(?:{'|'.join(_HARMLESS)})(?![\w/.-]))"
_PROCESS: Final = r"proc(?:/+[\w$*?\[.\\\"']|(?=[\s;|&<>)\"']|$))"
_NAMED: Final = re.compile(rf"{_BEFORE}(dev(?:/+{_OTHERS}(?:\w{{2,}}|[$*?\[])|(?=:))|{_PROCESS})", re.MULTILINE)


def find_special_files(text: str, program: ShellProgram) -> list[str]:
    """The first one in a text's source or decoded words."""
    words = (word.known for command in program.commands for each in command.with_inner() for word in each.words)
    found = next((named for each in (text, *words) if (named := _NAMED.search(each))), None)
    return [f"/{found[1]}"] if found else []
