"""What a model's name says: its family, its line within that, and its version."""

import re
from collections.abc import Mapping
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
