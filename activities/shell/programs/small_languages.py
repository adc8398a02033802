"""awk, sed and jq programs that only print: they reach no file, program or other input, and change nothing."""

import re
from functools import cache
from typing import Final

# awk: files, pipes, other programs and input names are not understood.
_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\#[^\n]*)
    |(?P<operand>"(?:[^"\\\n]|\\.)*"|\d+\.?\d*|\.\d+)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>\|\||&&|[<>!=]=|\+\+|--|[-+*%^]=|>>|!~|[-+*%^<>=!~?:,;\n(){}\[\]$|&@/])""",
    re.VERBOSE | re.DOTALL,
)
_AWK_PATTERN: Final = re.compile(r"(?P<operand>/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?[^\]\\\n/]*\])*/)")
_REACHING: Final = frozenset({"system", "getline", "close", "fflush", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "SYMTAB"})
_FORBIDDEN: Final = _REACHING | {"|", "@", "&"}
_PRINTING: Final = frozenset({"print", "printf"})
_GOES_ON: Final = frozenset({",", "&&", "||", "?", ":"})  # a line that ends with one continues
# After these a slash may divide or begin a pattern.
_UNCLEAR: Final = frozenset({")", "++", "--", "else", "do", "in", "case", "exit", "return", "length", "delete"})
# sed: neither is what reads, writes or runs something.
_PIECE: Final = r"(?:[^{0}\\\n\[]|\\[^\n]|\[\^?\]?[^\]\\\n{0}]*\])*"  # a pattern up to its delimiter
_SED_PATTERN: Final = _PIECE.format("/")
_ADDRESS: Final = rf"(?:\d+(?:~\d+)?|\$|/{_SED_PATTERN}/[IM]*)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:[+~]\d+|{_ADDRESS}))?\s*)?(?:!\s*)?"
_PLAIN: Final = r"[pPdDnNgGhHxFz=]|[qQlL]\s*\d*|[btT]\s*\w*"
_STARTS: Final = re.compile(rf"[\s;]*(?:\}}|:\s*\w+|#[^\n]*|{_ADDRESSES}(?P<command>\{{|{_PLAIN}|(?=[sy])))")
_END: Final = re.compile(r"[ \t]*(?:[;\n]|(?=[{}#])|$)")
_DELIMITERS: Final = frozenset("/|,#:;!@%~_+='\"&")
# jq: other inputs, the environment, modules. A field of that name (`.input`) does not match.
_JQ_REACHING: Final = re.compile(
    r"\$ENV|\$__|(?<![.\w$])(?:input|inputs|env|import|include|modulemeta|get_search_list)\b"
)


def awk_only_prints(program: str) -> bool:
    at, last, printing, depth = 0, "", False, 0
    while at < len(program):
        found = _next_token(program, at, last)
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


def _next_token(program: str, at: int, last: str) -> re.Match[str] | None:
    """A slash divides after a name, number, string or index; else it begins a pattern."""
    if program[at] != "/":
        return _TOKEN.match(program, at)
    if last in _UNCLEAR:
        return None
    divides = last == "]" or (last[:1].isidentifier() and last not in _PRINTING) or last == "0"
    return _TOKEN.match(program, at) if divides else _AWK_PATTERN.match(program, at)


def sed_only_prints(program: str) -> bool:
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


def jq_only_prints(program: str) -> bool:
    return _JQ_REACHING.search(program) is None
