"""Checks JSON by the shapes of AWS's service models, which botocore brings."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from botocore.loaders import Loader
from botocore.model import ServiceModel


@cache
def service_model(name: str) -> Any:
    """AWS's published description of a service."""
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def violations(shape: Any, value: Any, place: str = "") -> Iterator[str]:
    """What does not fit the shape, in the service's words."""
    if value is None:
        yield _constraint(place, "Member must not be null")
        return
    check = _CHECKS.get(shape.type_name)
    if check is not None and not getattr(shape, "is_document_type", False):
        yield from check(shape, value, place)


def _structure(shape: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _constraint(place, "Member must be a structure")
        return
    for name in value.keys() - shape.members.keys():
        yield f"{_inside(place, name)}: extraneous key [{name}] is not permitted"
    for name in shape.required_members:
        if name not in value and shape.members[name].serialization.get("location") != "uri":
            yield _constraint(_inside(place, name), "Member must not be null")
    if getattr(shape, "is_tagged_union", False) and len(value) != 1:
        yield _constraint(place, "Member must have exactly one of its members set")
    for name, inner in value.items():
        if name in shape.members:
            yield from violations(shape.members[name], inner, _inside(place, name))


def _list(shape: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _constraint(place, "Member must be a list")
        return
    yield from _length(shape, value, place)
    for number, inner in enumerate(value, 1):
        yield from violations(shape.member, inner, f"{place}.{number}.member")


def _map(shape: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _constraint(place, "Member must be a map")
        return
    for name, inner in value.items():
        yield from violations(shape.value, inner, _inside(place, name))


def _string(shape: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield _constraint(place, "Member must be a string")
        return
    yield from _length(shape, value, place)
    if shape.enum and value not in shape.enum:
        yield _constraint(place, f"Member must satisfy enum value set: [{', '.join(shape.enum)}]", value)
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        yield _constraint(place, f"Member must satisfy regular expression pattern: {pattern}", value)


def _blob(shape: Any, value: Any, place: str) -> Iterator[str]:
    try:
        yield from _length(shape, base64.b64decode(value, validate=True), place)
    except (binascii.Error, TypeError, ValueError):
        yield _constraint(place, "Member must be Base64")


def _number(shape: Any, value: Any, place: str) -> Iterator[str]:
    whole = shape.type_name in ("integer", "long")
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        yield _constraint(place, "Member must be a number")
        return
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and value < low:
        yield _constraint(place, f"Member must have value greater than or equal to {low}", value)
    if high is not None and value > high:
        yield _constraint(place, f"Member must have value less than or equal to {high}", value)


def _boolean(shape: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield _constraint(place, "Member must be a boolean")


_CHECKS: Final[Mapping[str, Callable[[Any, Any, str], Iterator[str]]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "blob": _blob,
    "boolean": _boolean,
    **dict.fromkeys(("integer", "long", "float", "double"), _number),
}


def _length(shape: Any, value: Any, place: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and len(value) < low:
        yield _constraint(place, f"Member must have length greater than or equal to {low}")
    if high is not None and len(value) > high:
        yield _constraint(place, f"Member must have length less than or equal to {high}")


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _constraint(place: str, broken: str, value: Any = None) -> str:
    named = "Value" if value is None else f"Value '{value}'"
    return f"{named} at '{place}' failed to satisfy constraint: {broken}"
