"""The JSON schema of configuration files, made of the models that read them."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from pydantic import AliasChoices

from workflows.domain.config import config, mcp_settings, provider_settings
from workflows.domain.config.config import (
    AgentSettings,
    ClientSettings,
    Config,
    Experimental,
    OlderSettings,
    UnsupportedSettings,
)
from workflows.domain.config.provider_settings import Provider, ProviderModel
from workflows.domain.config.section import Section
from workflows.domain.permissions.rules import Action

JsonSchema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOT_ACTED_ON: Final = "Known to OpenCode; Holdfast does not act on it."
OTHER_FIELDS: Final[Mapping[type[Section], tuple[str, ...]]] = {  # of OpenCode, within sections that Holdfast reads
    Provider: ("api", "env", "name"),
    ProviderModel: ("experimental", "family", "interleaved", "release_date", "status", "tool_call"),
    Experimental: ("batch_tool", "disable_paste_summary", "openTelemetry", "policies"),
}


class _ConfigFile(ClientSettings, Config, OlderSettings, UnsupportedSettings):
    """A configuration of OpenCode, as Holdfast reads it."""


def build_schema() -> JsonSchema:
    schema = _ConfigFile.model_json_schema()
    sections = {each.__name__: each for each in _sections(Section)}
    described = _descriptions(config) | _descriptions(mcp_settings) | _descriptions(provider_settings)
    for name, node in {**schema["$defs"], _ConfigFile.__name__: schema}.items():
        if name in sections:
            _complete(node, sections[name], described)
    schema["additionalProperties"] = False  # a top-level field that is misspelt has no effect
    return {"$schema": _DIALECT, "title": "Holdfast's configuration", **_plain(schema)}


def _sections(model: type[Section]) -> Iterator[type[Section]]:
    for each in model.__subclasses__():
        yield each
        yield from _sections(each)


def _descriptions(module: ModuleType) -> dict[tuple[str, str], str]:
    """The docstring below each field, by class and field."""
    found = {}
    for model in ast.parse(inspect.getsource(module)).body:
        body = model.body if isinstance(model, ast.ClassDef) else []
        for field, text in zip(body, body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[getattr(model, "name", ""), name] = " ".join(words.split())
    return found


def _complete(node: JsonSchema, model: type[Section], described: Mapping[tuple[str, str], str]) -> None:
    properties = node.setdefault("properties", {})
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        written = [str(each) for each in (alias.choices if isinstance(alias, AliasChoices) else [alias or name])]
        words = next(text for base in model.__mro__ if (text := described.get((base.__name__, name))))
        if model is _ConfigFile and name in (UnsupportedSettings.model_fields | ClientSettings.model_fields):
            words = f"{words} {_NOT_ACTED_ON}"
        shape = {**properties.pop(written[0]), "description": words}
        if name == "permission":
            shape = {"anyOf": [{"enum": [*Action]}, _without(shape, "description", "default")], "description": words}
        properties.update(dict.fromkeys(written, shape))
    properties.update({name: {"description": _NOT_ACTED_ON} for name in OTHER_FIELDS.get(model, ())})
    if model is AgentSettings:
        node["additionalProperties"] = True  # they go to the provider


def _without(shape: JsonSchema, *names: str) -> JsonSchema:
    return {name: value for name, value in shape.items() if name not in names}


def _plain(node: Any, *, names: bool = False) -> Any:
    """The schema without titles of fields and empty defaults. `names`: its keys are names of fields."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _plain(value, names=key in ("properties", "$defs") and not names)
        for key, value in node.items()
        if names or (key != "title" and not _is_empty(key, value))
    }


def _is_empty(key: str, value: Any) -> bool:
    return key == "default" and not isinstance(value, bool | int | float | str)
