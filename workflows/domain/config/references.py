"""References in the texts of a configuration: `{env:NAME}`, `{file:path}`, `{config:path#field}` (opencode.md 14.2).

A snapshot keeps them as they are; only who uses a value looks it up. The third form is ours: it stands for a key
that somebody wrote into a configuration file in plain, so that no snapshot holds it.
"""

import re
from collections.abc import Callable
from typing import Final, Literal, cast

Kind = Literal["env", "file", "config"]
_REFERENCE: Final = re.compile(r"\{(env|file|config):([^}]*)\}")


def has_reference(text: str) -> bool:
    """Whether `text` has to be looked up before it can be used."""
    return _REFERENCE.search(text) is not None


def replace(text: str, by: Callable[[Kind, str], str]) -> str:
    """`text` with each reference replaced by what `by` makes of its kind and its name."""
    return _REFERENCE.sub(lambda hit: by(cast(Kind, hit[1]), hit[2]), text)
