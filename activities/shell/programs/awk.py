"""awk programs that only print. Files, pipes, other programs and input names are not understood."""

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\#[^\n]*)
    |(?P<operand>"(?:[^"\\\n]|\\.)*"|\d+\.?\d*|\.\d+)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>\|\||&&|[<>!=]=|\+\+|--|[-+*%^]=|>>|!~|[-+*%^<>=!~?:,;\n(){}\[\]$|&@/])""",
    re.VERBOSE | re.DOTALL,
)
_PATTERN: Final = re.compile(r"(?P<operand>/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?[^\]\\\n/]*\])*/)")
_REACHING: Final = frozenset({"system", "getline", "close", "fflush", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "SYMTAB"})
_FORBIDDEN: Final = _REACHING | {"|", "@", "&"}
_PRINTING: Final = frozenset({"print", "printf"})
_GOES_ON: Final = frozenset({",", "&&", "||", "?", ":"})  # a line that ends with one continues
# After these a slash may divide or begin a pattern.
_UNCLEAR: Final = frozenset({")", "++", "--", "else", "do", "in", "case", "exit", "return", "length", "delete"})


def only_prints(program: str) -> bool:
    at, last, printing, depth = 0, "", False, 0
    while at < len(program):
        found = _next(program, at, last)
        if found is None:
            return False
        at, token = found.end(), found[0]
        if found.lastgroup == "blank":
            continue
        if token in _FORBIDDEN or (printing and depth == 0 and token in (">", ">>")):
            return False
        if token in _PRINTING:
            printing, depth = True, 0
        elif token in (";", "}") or (token == "\n" and last not in _GOES_ON):
            printing = False
        depth += (token in ("(", "[")) - (token in (")", "]"))
        last = "0" if found.lastgroup == "operand" else token
    return True


def _next(program: str, at: int, last: str) -> re.Match[str] | None:
    """A slash divides after a name, number, string or index; else it begins a pattern."""
    if program[at] != "/":
        return _TOKEN.match(program, at)
    if last in _UNCLEAR:
        return None
    divides = last == "]" or (last[:1].isidentifier() and last not in _PRINTING) or last == "0"
    return _TOKEN.match(program, at) if divides else _PATTERN.match(program, at)
