"""Arguments in the shell references of a template, quoted so that each stays one word (opencode.md 11)."""

import re
import shlex
from collections.abc import Callable
from typing import Final

from workflows.domain.errors import UsageError

_PLACEHOLDER: Final = r"(?P<placeholder>\$(?:ARGUMENTS|[1-9]\d{0,5}))"
_ESCAPE: Final = r"(?P<escape>\\.)"
# Where quotes mean something else: arithmetic, here-documents, comments, and expansions inside of quotes.
_TOKENS: Final = {
    "": re.compile(
        rf"{_ESCAPE}|{_PLACEHOLDER}|(?P<odd>\$?\(\(|\$[{{'\"]|<<|(?<![^\s;&|()])#)|(?P<quote>['\"])", re.DOTALL
    ),
    "'": re.compile(rf"{_PLACEHOLDER}|(?P<quote>')"),
    '"': re.compile(rf"{_ESCAPE}|{_PLACEHOLDER}|(?P<odd>\$[({{])|(?P<quote>\")", re.DOTALL),
}
_SPECIAL_IN_QUOTES: Final = re.compile(r'[\\"$`]')


def insert_arguments(command: str, value_of: Callable[[str], str]) -> str:
    """The text with arguments in place of placeholders; `value_of` gives that of a name. A missing argument leaves no
    word.

    Raises UsageError for a placeholder in a place where no quoting holds.
    """
    written, at, quote, odd = list[str](), 0, "", ""
    begin = 0  # of what is not written yet
    while (token := _TOKENS[quote].search(command, at)) is not None:
        at = token.end()
        match token.lastgroup:
            case "placeholder":
                if odd:
                    raise UsageError(
                        f"The template's shell reference {command!r} has {token[0]} after {odd}, where an argument "
                        f"cannot be quoted: write {token[0]} outside of that."
                    )
                written += [command[begin : token.start()], _word(value_of(token[0][1:]), quote)]
                begin = at
            case "odd":
                odd = odd or token[0]
            case "quote":
                quote = "" if quote else token[0]
    return "".join((*written, command[begin:]))


def _word(value: str, quote: str) -> str:
    if quote == "'":
        return value.replace("'", "'\\''")
    if quote == '"':
        return _SPECIAL_IN_QUOTES.sub(lambda hit: f"\\{hit[0]}", value)
    return shlex.quote(value) if value else ""
