"""References in configuration: made independent of their file on reading, resolved on use."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast
from urllib.parse import quote, unquote

from pydantic import JsonValue

from activities.own_thread import read_in_time
from activities.project.config_secrets import stays_in_file
from activities.project.jsonc import parse, read_text
from workflows.domain.config import fields, references
from workflows.domain.config.fields import FieldPath, JsonObject
from workflows.domain.errors import ConfigError

_TEXTS: Final = fields.field_paths("agent.*.prompt mode.*.prompt command.*.template")  # only {file:…} is looked up


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
    """Make paths in references absolute, and plain secrets references. Raises ConfigError for one of our own forms: it
    would be shown, or taken, for something else than it stands for."""
    return {key: _detach(value, (key,), file, home) for key, value in tree.items()}


def _detach(value: JsonValue, at: FieldPath, file: Path, home: Path) -> JsonValue:
    match value:
        case dict():
            return {key: _detach(item, (*at, key), file, home) for key, item in value.items()}
        case list():
            return [_detach(item, (*at, str(number)), file, home) for number, item in enumerate(value)]
        case str() if references.has_reference(value):
            _check_forms(value, at, file)
            return references.replace_references(value, lambda kind, name: _absolute(kind, name, file, home))
        case str() if stays_in_file(value, at):
            return f"{{config:{quote(str(file))}#{'/'.join(quote(step, safe='') for step in at)}}}"
    return value


def _check_forms(text: str, at: FieldPath, file: Path) -> None:
    for kind, _ in references.references_of(text) if not fields.is_within(at, _TEXTS) else ():
        if kind in ("config", "accepted"):
            raise ConfigError(
                f"{file}: the field {'.'.join(at)!r} holds a reference {{{kind}:…}}, a form that only Holdfast itself "
                "makes: write {env:NAME} or {file:path}."
            )


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
    if kind == "accepted":
        digest, inner, inner_name = name.split(":", 2)
        if inner == "path":
            inner, inner_name = "file", unquote(inner_name)
        text = await _look_up(cast(references.ReferenceKind, inner), inner_name, environ)
        check_accepted(text, digest, unquote(inner_name.partition("#")[0]))
        return text
    file, _, at = name.partition("#")
    path = Path(unquote(file))
    return await read_in_time(repr(str(path)), lambda: _field(path, at))


def check_accepted(text: str, digest: str | None, file: str) -> None:
    """Raises ConfigError if it has another `digest` than what a person has accepted of a project's file."""
    if digest is not None and content_digest(text) != digest:
        raise ConfigError(f"{file}: its content is not what was accepted: `holdfast trust` shows what has changed.")


def written_reference(kind: references.ReferenceKind, name: str) -> str:
    return f"{{{kind}:{name}}}"


def content_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_reference(kind: references.ReferenceKind, name: str) -> str:
    """What a file's reference stands for now. Raises ConfigError."""
    if kind == "config":
        file, _, at = name.partition("#")
        return _field(Path(unquote(file)), at)
    return _text(Path(name)).strip()


def referenced_file(kind: references.ReferenceKind, name: str) -> Path | None:
    """The file of a reference; None if it is not to a file."""
    return None if kind == "env" else Path(unquote(name.partition("#")[0]) if kind == "config" else name)


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
