"""The configuration fields that our code reads, found by following types through its syntax trees."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from textwrap import dedent
from types import ModuleType, NoneType
from typing import Any, get_args, get_origin, get_type_hints

from workflows.domain.config import config, provider_settings, turn_config
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.section import Section

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("activities", "workflows", "worker")
MODELS = {name: value for module in (config, provider_settings, turn_config) for name, value in vars(module).items()}

OWN_FILES = (config.__file__, provider_settings.__file__)  # they declare the fields
FILES = ("activities.project.", "workflows.domain.config.")  # they read files' contents before these are models

Field = tuple[type[Section], str]


def fields_read() -> tuple[set[Field], set[str]]:
    """The fields of sections that other modules than theirs read, and the names read from the objects of files."""
    found, keys = set[Field](), set[str]()
    for room in PACKAGES:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text("utf-8")
            if ("config" in text or "Settings" in text) and path not in (
                Path(config.__file__),
                Path(provider_settings.__file__),
            ):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                _Module(importlib.import_module(name), found, keys).visit(ast.parse(text))
    return found, keys


class _Module(ast.NodeVisitor):
    """Follows the types of names through a module's functions; what it cannot follow has no type."""

    def __init__(self, module: ModuleType, found: set[Field], keys: set[str]) -> None:
        self.module = module
        self.found = found
        self.keys = keys
        self.names: dict[str, Any] = {}
        self.owner: Any = None

    @cached_property
    def known(self) -> dict[str, Any]:
        return MODELS | vars(self.module)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self.owner = self.owner, getattr(self.module, node.name, None)
        self.generic_visit(node)
        self.owner = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.names = self.names, dict(self.names)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.names[argument.arg] = self.owner if argument.arg == "self" else self.annotated(argument.annotation)
        self.generic_visit(node)
        self.names = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self.bind(target, node.value)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.element(node.target, node.iter)
        self.generic_visit(node)

    def comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> None:
        for generator in node.generators:
            self.visit(generator.iter)
            self.element(generator.target, generator.iter)
        self.generic_visit(node)

    visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = comprehension

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        self.type_of(node)

    def visit_Call(self, node: ast.Call) -> None:
        """`model_dump` reads all fields, or the included ones; `get` may read one from a file's object."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="get", value=value), args=[ast.Constant(value=key), *_]):
                if self.type_of(value) == JsonObject and self.module.__name__.startswith(FILES):
                    self.keys.add(str(key))
            case ast.Call(func=ast.Attribute(attr="model_dump", value=value), keywords=keywords):
                base = self.type_of(value)
                included = [
                    each for keyword in keywords if keyword.arg == "include" for each in ast.walk(keyword.value)
                ]
                named = [str(each.value) for each in included if isinstance(each, ast.Constant)]
                for name in named if included else getattr(base, "model_fields", ()):
                    self.note(base, name)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        call = value.value if isinstance(value, ast.Await) else value
        if isinstance(target, ast.Name):
            self.names[target.id] = self.type_of(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self.bind(one, other)
        elif isinstance(target, ast.Tuple) and isinstance(call, ast.Call) and ast.unparse(call.func).endswith("gather"):
            for one, other in zip(target.elts, call.args, strict=False):
                self.bind(one, other)
        elif isinstance(target, ast.Tuple) and get_origin(returned := self.type_of(value)) is tuple:
            for one, kind in zip(target.elts, get_args(returned), strict=False):
                if isinstance(one, ast.Name):
                    self.names[one.id] = kind

    def element(self, target: ast.expr, iterated: ast.expr) -> None:
        """The type of an item in a loop over a mapping's values or items."""
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute):
            value = _value_of(self.type_of(iterated.func.value))
            name = target.elts[-1] if isinstance(target, ast.Tuple) else target
            if isinstance(name, ast.Name) and iterated.func.attr in ("values", "items"):
                self.names[name.id] = value

    def annotated(self, annotation: ast.expr | None) -> Any:
        try:
            text = ast.unparse(annotation) if annotation is not None else "None"
            return _plain(eval(eval(text) if text[:1] in "'\"" else text, self.known))
        except Exception:  # a name for type checking only, not the configuration's
            return None

    def type_of(self, node: ast.expr) -> Any:
        match node:
            case ast.Name():
                return self.names.get(node.id)
            case ast.Await():
                return self.type_of(node.value)
            case ast.NamedExpr():
                self.names[node.target.id] = found = self.type_of(node.value)
                return found
            case ast.BoolOp():
                return next(filter(None, map(self.type_of, node.values)), None)
            case ast.IfExp():
                return self.type_of(node.body) or self.type_of(node.orelse)
            case ast.Subscript():
                return _value_of(self.type_of(node.value))
            case ast.Attribute():
                return self.note(self.type_of(node.value), node.attr)
            case ast.Call():
                return self.returned(node.func)
        return None

    def returned(self, function: ast.expr) -> Any:
        if isinstance(function, ast.Attribute) and (base := self.type_of(function.value)) is not None:
            return _hint(getattr(base, function.attr, None), "return") if isinstance(base, type) else _value_of(base)
        try:
            called = eval(ast.unparse(function), self.known)
        except Exception:  # a local name
            return None
        return called if isinstance(called, type) else _hint(called, "return")

    def note(self, base: Any, attribute: str) -> Any:
        """The type of an attribute; notes that a section's field is read."""
        if not isinstance(base, type):
            return None
        if issubclass(base, Section) and attribute in base.model_fields:
            self.found.add((base, attribute))
        value = getattr(base, attribute, None)
        if isinstance(value, property):
            return _hint(value.fget, "return")
        return _hint(base, attribute) or _given(base, attribute)


def _hint(value: Any, name: str) -> Any:
    try:
        return _plain(get_type_hints(value, localns=MODELS).get(name))
    except Exception:  # no annotations, or names of type checking only
        return None


def _given(owner: type, attribute: str) -> Any:
    """The type of what a constructor puts into an attribute: a parameter or a new object."""
    try:
        constructor = vars(owner)["__init__"]
        made = ast.parse(dedent(inspect.getsource(constructor)))
    except (KeyError, OSError, TypeError):  # none of ours
        return None
    for node in ast.walk(made):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{attribute}":
            text = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
            return _hint(constructor, ast.unparse(node.value)) or constructor.__globals__.get(text)
    return None


def _plain(kind: Any) -> Any:
    """A type without None and wrappers of coroutines."""
    choices = [each for each in get_args(kind) if each is not NoneType]
    if NoneType in get_args(kind) and len(choices) == 1:
        return _plain(choices[0])
    return kind


def _value_of(kind: Any) -> Any:
    """The type of a mapping's values."""
    arguments = get_args(kind)
    return _plain(arguments[1]) if len(arguments) == 2 and get_origin(kind) is not tuple else None


def fields_of(model: type[Section]) -> Iterator[Field]:
    """The fields of a section and its sections."""
    for name, field in model.model_fields.items():
        yield model, name
        for section in _sections(field.annotation):
            if section is not model:
                yield from fields_of(section)


def _sections(kind: Any) -> Iterator[type[Section]]:
    if isinstance(kind, type) and issubclass(kind, Section):
        yield kind
    for argument in get_args(kind):
        yield from _sections(argument)
