"""References in configuration: made independent of their file on reading, resolved on use."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from pydantic import JsonValue

from activities.own_thread import read_in_time
from activities.project.jsonc import parse, read_text
from activities.redact import Redactor
from workflows.domain.config import fields, references
from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError

_REDACTOR: Final = Redactor()
_SECRET_NAME: Final = re.compile(r"key$|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_SECTIONS_WITHOUT_SECRETS: Final = frozenset({"permission", "tools", "keybinds"})  # keys are names of other things
_SCHEMES: Final = frozenset({"", "bearer", "basic", "token"})
_ADDRESSES: Final = frozenset({"baseURL", "endpoint", "proxy"})
_SECRET_OPTION: Final = re.compile(r"key|token|secret|password|credential|auth", re.IGNORECASE)

FieldPath = tuple[str, ...]


async def resolve(text: str, environ: Mapping[str, str]) -> str:
    """A missing variable is empty; a file that is missing, or not read in time, is a ConfigError.

    The result may be a secret: never store or log it.
    """
    found = {each: await _look_up(*each, environ) for each in set(references.references_of(text))}
    return references.replace_references(text, lambda *each: found[each]) if found else text


async def resolve_all(value: JsonValue, environ: Mapping[str, str]) -> JsonValue:
    match value:
        case dict():
            return {key: await resolve_all(item, environ) for key, item in value.items()}
        case list():
            return [await resolve_all(item, environ) for item in value]
        case str():
            return await resolve(value, environ)
    return value


def detach_from_file(tree: JsonObject, file: Path, home: Path) -> JsonObject:
    """Make paths in references absolute, and plain secrets references."""
    return {key: _detach(value, (key,), file, home) for key, value in tree.items()}


def _detach(value: JsonValue, at: FieldPath, file: Path, home: Path) -> JsonValue:
    match value:
        case dict():
            return {key: _detach(item, (*at, key), file, home) for key, item in value.items()}
        case list():
            return [_detach(item, (*at, str(number)), file, home) for number, item in enumerate(value)]
        case str() if references.has_reference(value):
            return references.replace_references(value, lambda kind, name: _absolute(kind, name, file, home))
        case str() if _is_secret(at) or _may_hold_login(value, at):
            return f"{{config:{quote(str(file))}#{'/'.join(quote(step, safe='') for step in at)}}}"
    return value


def find_secrets(tree: JsonObject) -> Iterator[FieldPath]:
    """The paths of keys, headers, tokens and passwords in `tree` that are not references."""
    return (at for at, text in references.iter_texts(tree) if _holds_secret(text, at))


def _holds_secret(text: str, at: FieldPath) -> bool:
    """By its field or its form. A scheme before a reference is none."""
    if _REDACTOR.text(text) != text or (_may_hold_login(text, at) and not references.has_reference(text)):
        return True
    plain = references.replace_references(text, lambda kind, name: "").strip()
    named = _SECRET_NAME.search(_field_name(at)) is not None or "headers" in at[:-1]
    return named and not _SECTIONS_WITHOUT_SECRETS.intersection(at[:-1]) and plain.lower() not in _SCHEMES


def _is_secret(at: FieldPath) -> bool:
    return at[0] == "provider" and (
        "headers" in at[:-1] or ("options" in at[:-1] and bool(_SECRET_OPTION.search(_field_name(at))))
    )


def _may_hold_login(text: str, at: FieldPath) -> bool:
    return at[0] == "provider" and at[-1] in _ADDRESSES and ("@" in text or _REDACTOR.text(text) != text)


def _field_name(at: FieldPath) -> str:
    """A list's for its items."""
    return next((step for step in reversed(at) if not step.isdigit()), "")


def _absolute(kind: references.ReferenceKind, name: str, file: Path, home: Path) -> str:
    if kind != "file":
        return f"{{{kind}:{name}}}"
    path = home / name[2:] if name.startswith("~/") else file.parent / name
    return f"{{file:{path}}}"


async def _look_up(kind: references.ReferenceKind, name: str, environ: Mapping[str, str]) -> str:
    if kind == "env":
        return environ.get(name, "")
    if kind == "file":
        return await read_in_time(repr(name), lambda: _text(Path(name)).strip())
    file, _, at = name.partition("#")
    path = Path(unquote(file))
    return await read_in_time(repr(str(path)), lambda: _field(path, at))


def _field(path: Path, at: str) -> str:
    value = fields.value_at(parse(_text(path), path), tuple(unquote(step) for step in at.split("/")))
    if not isinstance(value, str):
        raise ConfigError(f"{path}: the field {unquote(at).replace('/', '.')!r} is gone: write it again or log in.")
    return value


def _text(path: Path) -> str:
    text = read_text(path)
    if text is None:
        raise ConfigError(f"{path}: there is no such file, though the configuration refers to it.")
    return text
