"""References in the texts of a configuration: `{env:NAME}`, `{file:path}`, `{config:path#field}` (opencode.md 14.2).

A snapshot keeps them as they are; only who uses a value looks it up. The third form is ours: it stands for a key
that somebody wrote into a configuration file in plain, so that no snapshot holds it.
"""

import re
from collections.abc import Callable
from itertools import chain
from typing import Final, Literal, cast

from workflows.domain.config.config import Config

Kind = Literal["env", "file", "config"]
_REFERENCE: Final = re.compile(r"\{(env|file|config):([^}]*)\}")


def referred(config: Config) -> frozenset[tuple[Kind, str]]:
    """Kind and name of the references that are looked up when a configuration is used.

    They stand where only the user's own files count: no repository can name a variable to be read.
    """
    texts = [config.model, *(agent.model for agent in config.agent.values())]
    for provider in config.provider.values():
        texts += [provider.options.api_key, provider.options.base_url, *provider.options.headers.values()]
        texts += [header for model in provider.models.values() for header in model.headers.values()]
    hits = chain.from_iterable(_REFERENCE.finditer(text) for text in texts if text)
    return frozenset((cast(Kind, hit[1]), hit[2]) for hit in hits)


def has_reference(text: str) -> bool:
    """Whether `text` has to be looked up before it can be used."""
    return _REFERENCE.search(text) is not None


def replace(text: str, by: Callable[[Kind, str], str]) -> str:
    """`text` with each reference replaced by what `by` makes of its kind and its name."""
    return _REFERENCE.sub(lambda hit: by(cast(Kind, hit[1]), hit[2]), text)
