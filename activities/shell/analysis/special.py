"""Special files that a text names: devices and processes, whether or not this machine has them just now."""

import re
from typing import Final

from activities.shell.analysis.program import Program

# A path from the root, also behind an option (`-o/dev/sda`), a variable that may be empty, or a command that may print
# nothing. `src/dev/x` and `http://dev/x` are none, and `/dev/p` and `/proc/ {` are mostly patterns of sed and awk.
_HOST: Final = r"(?<!http:)(?<!https:)(?<!ftp:)(?<!git:)(?<!ssh:)"
_BEFORE: Final = rf"(?:^|[^\w.~/*?\]}}-]{_HOST}|(?<!\S)-\w+|\$\w+|\$\{{[^}}]*\}}|file://[^/\s]*)/+(?:\.{{1,2}}/+)*"
_STREAMS: Final = r"(?!(?:null|stdin|stdout|stderr)(?![\w/.-]))"
_PROCESS: Final = r"proc(?:/+[\w$*?\[.\\\"']|(?=[\s;|&<>)\"']|$))"
_NAMED: Final = re.compile(rf"{_BEFORE}(dev(?:/+{_STREAMS}(?:\w{{2,}}|[$*?\[])|(?=:))|{_PROCESS})", re.MULTILINE)


def special_names(text: str, program: Program) -> list[str]:
    """The first device or process that a text names, as it stands or in its decoded words."""
    words = (word.known for command in program.commands for each in command.everything() for word in each.words)
    found = next((named for each in (text, *words) if (named := _NAMED.search(each))), None)
    return [f"/{found[1]}"] if found else []
