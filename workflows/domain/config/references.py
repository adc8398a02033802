"""References in configuration texts: `{env:NAME}`, `{file:path}`, `{config:path#field}` (opencode.md 14.2).

A TurnConfig keeps them; they are resolved at use. The third form is ours: it replaces a plain-text key of a file, so
that no TurnConfig holds it. So is the fourth, `{accepted:DIGEST:KIND:NAME}`: a reference of a project's file, and the
digest of what it stood for when a person accepted it. Its kind `path` is for files that `FILE_OPTIONS` name.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, Literal, cast
from urllib.parse import quote, unquote

from pydantic import JsonValue

from workflows.domain.config.config import Config
from workflows.domain.config.fields import (
    CLIENT_FIELDS,
    SUPPORTED_FIELDS,
    FieldPath,
    JsonObject,
    field_paths,
    is_within,
    split_by_paths,
)

FILE_OPTIONS: Final = field_paths(
    "provider.*.options.caFile provider.*.options.certFile provider.*.options.keyFile "
    "provider.*.options.googleAuthOptions.keyFilename"
)
ReferenceKind = Literal["env", "file", "config", "accepted"]
_RESOLVED_FIELDS: Final = field_paths(
    """model agent.*.model agent.*.options agent.*.prompt command.*.template provider.*.options
    provider.*.models.*.headers provider.*.models.*.options provider.*.models.*.variants"""
)
_REFERENCE: Final = re.compile(r"\{(env|file|config|accepted):([^}]*)\}")
_ACCEPTED_FILE: Final = re.compile(r"\{accepted:[^:}]*:path:([^}]*)\}")


def used_references(config: Config) -> frozenset[tuple[ReferenceKind, str]]:
    """Kind and name of the references resolved at use. Only the user's own files decide those fields: no repository can
    name a variable to read."""
    texts = [config.model, config.small_model, *(agent.model for agent in config.agent.values())]
    options = [agent.options for agent in config.agent.values()]
    for provider in config.provider.values():
        texts += [text for _, text in iter_texts(provider.options.model_dump())]
        for model in provider.models.values():
            texts += model.headers.values()
            options += [model.options, *model.variants.values()]
    texts += [text for each in options for _, text in iter_texts(each)]
    return frozenset(chain.from_iterable(references_of(text) for text in texts if text))


def references_of(text: str) -> Iterator[tuple[ReferenceKind, str]]:
    return ((cast(ReferenceKind, hit[1]), hit[2]) for hit in _REFERENCE.finditer(text))


def iter_texts(value: JsonValue, at: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """The texts at any depth, with their paths."""
    match value:
        case dict():
            for key, item in value.items():
                yield from iter_texts(item, (*at, key))
        case list():
            for number, item in enumerate(value):
                yield from iter_texts(item, (*at, str(number)))
        case str():
            yield at, value


def unresolved_references(tree: JsonObject) -> Iterator[FieldPath]:
    """Supported fields whose text or key holds a reference that is never resolved."""
    honoured = {
        key: value for key, value in split_by_paths(tree, SUPPORTED_FIELDS)[0].items() if key not in CLIENT_FIELDS
    }
    for at, text in iter_texts(honoured):
        if has_reference(" ".join(at)) or (has_reference(text) and not is_within(at, _RESOLVED_FIELDS)):
            yield at


def accept_file(path: str, digest: str) -> str:
    """A reference to what the file held when a person accepted it."""
    return f"{{accepted:{digest}:path:{quote(path)}}}"


def accepted_file(text: str) -> str | None:
    """The path in such a reference; None: it is none."""
    found = _ACCEPTED_FILE.fullmatch(text)
    return unquote(found[1]) if found is not None else None


def has_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def replace_references(text: str, by: Callable[[ReferenceKind, str], str]) -> str:
    return _REFERENCE.sub(lambda hit: by(cast(ReferenceKind, hit[1]), hit[2]), text)
