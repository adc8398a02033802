"""Variables that a text sets without an assignment: by a loop, by `read`, by `wait`, for a file descriptor.

Those that the shell and programs read can make any harmless command run another one: PATH, GIT_CONFIG_VALUE_0, PS4.
"""

import re
from collections.abc import Iterator
from typing import Final

from activities.shell.analysis.program import Command, Word

# A text's own names: one letter, or lower case, which nothing but proxies go by.
_OWN: Final = re.compile(r"_|[A-Za-z]|(?!\w*_proxy\Z)[a-z][a-z0-9_]*", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_READ_OPTION: Final = re.compile(r"-[a-z]*N?[\d.]*", re.ASCII)  # none with a name of another form behind its letter
_WAIT_OPTION: Final = re.compile(r"-\w*p.*", re.S)


def is_own(name: str) -> bool:
    """Whether no program reads a variable of this name."""
    return _OWN.fullmatch(name) is not None


def read_by_others(command: Command) -> Iterator[str]:
    """The words of a command that may name a variable which programs read, and which it would set."""
    judge = {"read": _by_read, "wait": _by_wait}.get(command.name)
    if judge is not None:
        yield from (word.source for word in command.words[1:] if judge(word))


def _by_read(word: Word) -> bool:
    known = word.known
    if word.pattern is not None:  # a file may have the name
        return True
    return _READ_OPTION.fullmatch(known) is None if known.startswith("-") else _names_another(known)


def _by_wait(word: Word) -> bool:
    return word.pattern is not None or _WAIT_OPTION.fullmatch(word.known) is not None


def _names_another(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not is_own(text)
