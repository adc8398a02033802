"""What a model's name says: its family, its line within that, and its version."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from os.path import commonprefix
from typing import Final, NamedTuple

_COMPANIES: Final = {  # families → the provider that makes them, by its name in the tables
    **dict.fromkeys(("chatgpt", "codex", "gpt", "o"), "openai"),
    **dict.fromkeys(("codestral", "devstral", "magistral", "ministral", "mistral", "pixtral"), "mistral"),
    "claude": "anthropic",
    "command": "cohere_chat",
    "deepseek": "deepseek",
    "gemini": "gemini",
    "gemma": "gemini",
    "glm": "zai",
    "grok": "xai",
    "kimi": "moonshot",
    "mimo": "xiaomi_mimo",
    "minimax": "minimax",
    "qwen": "dashscope",
}
# behind the names of companies, regions and folders; an open model that others have made of a family's is none of it
_NAME: Final = re.compile(rf"(?!.*(?:gpt-oss|distill))(?:.*?[^a-z\d])??((?:{'|'.join(_COMPANIES)})(?![a-z]).*)")
_UNSAID: Final = re.compile(  # reasons for another name of the same model: sizes, dates, revisions, kinds of an offer
    r"[@:].*|[-:]\d+(\.\d+)?[bt](?![a-z\d])(-a\d+b)?|-(20\d{6}|20\d\d-\d\d-\d\d|\d{4})(?!\d)|-v\d+$"
    r"|-(exp|free|instruct|it|latest|maas|preview)(?![a-z])"
)
_NEWEST: Final = (1_000_000,)  # the version of a name without one
_ALIKE: Final = 0.85  # of the letters of long names: "max" is not "min"


class ModelName(NamedTuple):
    """`words`: the family, and what tells its lines apart."""

    company: str
    words: frozenset[str]
    version: tuple[int, ...]


def read_name(name: str) -> ModelName | None:
    """None for a model of no family that is known here. `name`: with or without those of providers before it."""
    if (found := _NAME.fullmatch(name.lower().rpartition("/")[2])) is None:
        return None
    text = re.sub(r"(?<=\d)[.p-](?=\d)", ".", _UNSAID.sub("", found[1]))
    words = re.findall(r"(?!v\d)[a-z]+", text)
    numbers = re.search(r"\d+(\.\d+)*", text)
    version = tuple(map(int, numbers[0].split("."))) if numbers else _NEWEST
    return ModelName(_COMPANIES[words[0]], frozenset(words), version)


def choose_relative(asked: ModelName, known: Mapping[str, ModelName]) -> str | None:
    """The model that is most like the one asked for: of its line, else of its family; of these the newest that is not
    newer."""
    family = {name: each for name, each in known.items() if each.company == asked.company and _akin(each, asked)}

    def likeness(name: str) -> tuple[object, ...]:
        each = family[name]
        newer, versioned = each.version > asked.version, each.version != _NEWEST
        age = tuple(-part for part in each.version) if newer else each.version
        return each.words == asked.words, versioned, not newer, age, -len(each.words ^ asked.words), name

    return max(family, key=likeness, default=None)


def is_older(known: str, asked: str) -> bool:
    """Whether `known` is an older model of the very line of the one asked for."""
    older, newer = read_name(known), read_name(asked)
    return older is not None and newer is not None and older[:2] == newer[:2] and older.version < newer.version


def _akin(each: ModelName, asked: ModelName) -> bool:
    return bool(each.words & asked.words & _COMPANIES.keys())


def find_meant(name: str, known: Sequence[str]) -> str | None:
    """The known name that a misspelt one means: one with the same numbers and almost the same letters, or the newest of
    those that contain a name without numbers. Other numbers are those of another version."""
    typed, numbers = name.lower(), re.sub(r"\D", "", name)
    if not numbers and len(typed) > 2 and (longer := [each for each in known if typed in each.lower()]):
        return max(longer, key=_version)
    by_letters = {_letters(each): each for each in known if re.sub(r"\D", "", each) == numbers}
    slips = [letters for letters in by_letters if _one_slip(letters, _letters(typed))]
    close = slips or get_close_matches(_letters(typed), by_letters, n=1, cutoff=_ALIKE)
    return by_letters[close[0]] if close else None


def _one_slip(one: str, other: str) -> bool:
    """A letter that is wrong, missing or too many, or two that changed places."""
    start = len(commonprefix((one, other)))
    one, other = one[start:][::-1], other[start:][::-1]
    end = len(commonprefix((one, other)))
    one, other = one[end:], other[end:]
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _version(name: str) -> tuple[list[int], int]:
    """Of names without a date; the shortest of equal ones is the model itself."""
    numbers = [int(each) for each in re.findall(r"\d+", name)]
    return ([] if any(each > 999 for each in numbers) else numbers), -len(name)
