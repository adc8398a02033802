"""References in configuration: made independent of their file when it is read, looked up when they are used."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from pydantic import JsonValue

from activities.project.jsonc import parse, read_text
from activities.redact import Redactor
from workflows.domain.config import fields, references
from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError

_SHAPES: Final = Redactor()
_NAMED_SO: Final = re.compile(r"key$|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_NO_SECRETS: Final = frozenset({"permission", "tools", "keybinds"})  # whose keys are names of other things
_SCHEMES: Final = frozenset({"", "bearer", "basic", "token"})
_SECRET: Final = re.compile(r"key|token|secret|password|credential|auth", re.IGNORECASE)

Steps = tuple[str, ...]


async def resolve(text: str, environ: Mapping[str, str]) -> str:
    """`text` with its references looked up: a missing variable is empty, a missing file is a ConfigError.

    The result may be a secret: it is for the one who uses it, never for a store, a log or a history.
    """
    if not references.has_reference(text):
        return text
    return await asyncio.to_thread(references.replace, text, lambda kind, name: _looked_up(kind, name, environ))


async def resolve_all(value: JsonValue, environ: Mapping[str, str]) -> JsonValue:
    """`value` with the references in all of its texts looked up, as `resolve` does."""
    match value:
        case dict():
            return {key: await resolve_all(item, environ) for key, item in value.items()}
        case list():
            return [await resolve_all(item, environ) for item in value]
        case str():
            return await resolve(value, environ)
    return value


def grounded(tree: JsonObject, file: Path, home: Path) -> JsonObject:
    """`tree` such that it can leave its file: paths in references absolute, plain secrets replaced by references."""
    return {key: _grounded(value, (key,), file, home) for key, value in tree.items()}


def _grounded(value: JsonValue, at: Steps, file: Path, home: Path) -> JsonValue:
    match value:
        case dict():
            return {key: _grounded(item, (*at, key), file, home) for key, item in value.items()}
        case list():
            return [_grounded(item, (*at, str(number)), file, home) for number, item in enumerate(value)]
        case str() if references.has_reference(value):
            return references.replace(value, lambda kind, name: _absolute(kind, name, file, home))
        case str() if _is_secret(at) or (at[0] == "provider" and at[-1] == "baseURL" and _SHAPES.text(value) != value):
            return f"{{config:{quote(str(file))}#{'/'.join(quote(step, safe='') for step in at)}}}"
    return value


def secrets_of(tree: JsonObject) -> Iterator[Steps]:
    """Where `tree` holds a key, a header, a token or a password as it is, instead of a reference to it."""
    return (at for at, text in references.texts_in(tree) if _reveals(text, at))


def _reveals(text: str, at: Steps) -> bool:
    """Whether a text holds a secret, by its place or by its looks; a scheme before a reference is none."""
    if _SHAPES.text(text) != text:
        return True
    plain = references.replace(text, lambda kind, name: "").strip()
    named = _NAMED_SO.search(_name(at)) is not None or "headers" in at[:-1]
    return named and not _NO_SECRETS.intersection(at[:-1]) and plain.lower() not in _SCHEMES


def _is_secret(at: Steps) -> bool:
    """Whether the text at this place is a key or a header that a provider gets."""
    return at[0] == "provider" and ("headers" in at[:-1] or ("options" in at[:-1] and bool(_SECRET.search(_name(at)))))


def _name(at: Steps) -> str:
    """The name of what stands at a place: an item of a list has that of its list."""
    return next((step for step in reversed(at) if not step.isdigit()), "")


def _absolute(kind: references.Kind, name: str, file: Path, home: Path) -> str:
    if kind != "file":
        return f"{{{kind}:{name}}}"
    path = home / name[2:] if name.startswith("~/") else file.parent / name
    return f"{{file:{path}}}"


def _looked_up(kind: references.Kind, name: str, environ: Mapping[str, str]) -> str:
    if kind == "env":
        return environ.get(name, "")
    if kind == "file":
        return _text(Path(name)).strip()
    file, _, at = name.partition("#")
    path = Path(unquote(file))
    value = fields.at(parse(_text(path), path), tuple(unquote(step) for step in at.split("/")))
    if not isinstance(value, str):
        raise ConfigError(f"{path}: the field {unquote(at).replace('/', '.')!r} is gone: write it again or log in.")
    return value


def _text(path: Path) -> str:
    text = read_text(path)
    if text is None:
        raise ConfigError(f"{path}: there is no such file, though the configuration refers to it.")
    return text
