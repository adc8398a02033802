"""Variables set without an assignment: `for`, `read`, `wait`, `{name}>file`. Those that shell and programs read (PATH,
GIT_CONFIG_VALUE_0, PS4) can make a harmless command run another one."""

import re
from collections.abc import Iterator
from typing import Final

from activities.shell.analysis.program import Command, Word

# Names that programs do not read: one letter, or lower case (except proxies).
_OWN: Final = re.compile(r"_|[A-Za-z]|(?!\w*_proxy\Z)[a-z][a-z0-9_]*", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_READ_OPTION: Final = re.compile(r"-[a-z]*N?[\d.]*", re.ASCII)  # without a name attached to its letter
_WAIT_OPTION: Final = re.compile(r"-\w*p.*", re.S)


def is_private_name(name: str) -> bool:
    return _OWN.fullmatch(name) is not None


def sets_visible_variable(command: Command) -> Iterator[str]:
    """The words that may set a variable that programs read."""
    sets_variable = {"read": _by_read, "wait": _by_wait}.get(command.name)
    if sets_variable is not None:
        yield from (word.source for word in command.words[1:] if sets_variable(word))


def _by_read(word: Word) -> bool:
    known = word.known
    if word.pattern is not None:  # a file may have such a name
        return True
    return _READ_OPTION.fullmatch(known) is None if known.startswith("-") else _names_another(known)


def _by_wait(word: Word) -> bool:
    return word.pattern is not None or _WAIT_OPTION.fullmatch(word.known) is not None


def _names_another(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not is_private_name(text)
