"""References in the texts of a configuration: `{env:NAME}`, `{file:path}`, `{config:path#field}` (opencode.md 14.2).

A snapshot keeps them as they are; only who uses a value looks it up. The third form is ours: it stands for a key
that somebody wrote into a configuration file in plain, so that no snapshot holds it.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, Literal, cast

from pydantic import JsonValue

from workflows.domain.config.config import Config
from workflows.domain.config.fields import FOREIGN, HONOURED, JsonObject, Path, paths, split, within

Kind = Literal["env", "file", "config"]
_LOOKED_UP: Final = paths(
    "model",
    "agent.*.model",
    "provider.*.options.apiKey",
    "provider.*.options.baseURL",
    "provider.*.options.headers",
    "provider.*.models.*.headers",
    "provider.*.models.*.options",
)
_REFERENCE: Final = re.compile(r"\{(env|file|config):([^}]*)\}")


def referred(config: Config) -> frozenset[tuple[Kind, str]]:
    """Kind and name of the references that are looked up when a configuration is used.

    They stand where only the user's own files count: no repository can name a variable to be read.
    """
    texts = [config.model, *(agent.model for agent in config.agent.values())]
    for provider in config.provider.values():
        texts += [provider.options.api_key, provider.options.base_url, *provider.options.headers.values()]
        for model in provider.models.values():
            texts += [*model.headers.values(), *(text for _, text in texts_in(model.options))]
    hits = chain.from_iterable(_REFERENCE.finditer(text) for text in texts if text)
    return frozenset((cast(Kind, hit[1]), hit[2]) for hit in hits)


def texts_in(value: JsonValue, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts in a value, at any depth, and where they stand."""
    match value:
        case dict():
            for key, item in value.items():
                yield from texts_in(item, (*at, key))
        case list():
            for number, item in enumerate(value):
                yield from texts_in(item, (*at, str(number)))
        case str():
            yield at, value


def not_looked_up(tree: JsonObject) -> Iterator[Path]:
    """Where the honoured part of a file holds a reference, in a text or a key, that is not looked up."""
    honoured = {key: value for key, value in split(tree, HONOURED)[0].items() if key not in FOREIGN}
    for at, text in texts_in(honoured):
        if has_reference(" ".join(at)) or (has_reference(text) and not within(at, _LOOKED_UP)):
            yield at


def has_reference(text: str) -> bool:
    """Whether `text` has to be looked up before it can be used."""
    return _REFERENCE.search(text) is not None


def replace(text: str, by: Callable[[Kind, str], str]) -> str:
    """`text` with each reference replaced by what `by` makes of its kind and its name."""
    return _REFERENCE.sub(lambda hit: by(cast(Kind, hit[1]), hit[2]), text)
