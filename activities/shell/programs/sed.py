"""sed programs that only print and substitute. Reading, writing or running something is not understood."""

import re
from functools import cache
from typing import Final

_PIECE: Final = r"(?:[^{0}\\\n\[]|\\[^\n]|\[\^?\]?[^\]\\\n{0}]*\])*"  # a pattern up to its delimiter
_PATTERN: Final = _PIECE.format("/")
_ADDRESS: Final = rf"(?:\d+(?:~\d+)?|\$|/{_PATTERN}/[IM]*)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:[+~]\d+|{_ADDRESS}))?\s*)?(?:!\s*)?"
_PLAIN: Final = r"[pPdDnNgGhHxFz=]|[qQlL]\s*\d*|[btT]\s*\w*"
_STARTS: Final = re.compile(rf"[\s;]*(?:\}}|:\s*\w+|#[^\n]*|{_ADDRESSES}(?P<command>\{{|{_PLAIN}|(?=[sy])))")
_END: Final = re.compile(r"[ \t]*(?:[;\n]|(?=[{}#])|$)")
_DELIMITERS: Final = frozenset("/|,#:;!@%~_+='\"&")


def only_prints(program: str) -> bool:
    at = 0
    while program[at:].strip(" \t\n;"):
        begun = _STARTS.match(program, at)
        if begun is None:
            return False
        at = begun.end()
        if begun["command"] == "":
            change = _change(program, at)
            if change is None:
                return False
            at = change
        if begun["command"] != "{":
            ended = _END.match(program, at)
            if ended is None:
                return False
            at = ended.end()
    return True


def _change(program: str, at: int) -> int | None:
    """The end of an `s` or `y` command that only changes text."""
    delimiter = program[at + 1 : at + 2]
    if delimiter not in _DELIMITERS:
        return None
    found = _changing(delimiter).match(program, at)
    return found.end() if found else None


@cache
def _changing(delimiter: str) -> re.Pattern[str]:
    mark = re.escape(delimiter)
    text = rf"(?:[^{mark}\\]|\\.)*"
    pattern = _PIECE.format(mark)
    return re.compile(rf"s{mark}{pattern}{mark}{text}{mark}[gpiImM0-9]*|y{mark}{text}{mark}{text}{mark}", re.DOTALL)
