"""Which texts of a configuration are secrets."""

import re
from collections.abc import Iterator
from typing import Final

from activities.redact import Redactor
from workflows.domain.config import references
from workflows.domain.config.fields import FieldPath, JsonObject, is_within

_REDACTOR: Final = Redactor()
_SECRET_NAME: Final = re.compile(r"key$|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_SECTIONS_WITHOUT_SECRETS: Final = frozenset({"permission", "tools", "keybinds"})  # keys are names of other things
_SCHEMES: Final = frozenset({"", "bearer", "basic", "token"})
_ADDRESSES: Final = frozenset({"baseURL", "endpoint", "proxy", "url"})
_SECRET_OPTION: Final = re.compile(r"key|token|secret|password|credential|auth", re.IGNORECASE)


def find_secrets(tree: JsonObject) -> Iterator[FieldPath]:
    """The paths of keys, headers, tokens and passwords in `tree` that are not references."""
    return (at for at, text in references.iter_texts(tree) if holds_secret(text, at))


def holds_secret(text: str, at: FieldPath) -> bool:
    """Whether a text is a secret, by its field or its form. A scheme before a reference is none."""
    if _REDACTOR.text(text) != text or (_may_hold_login(text, at) and not references.has_reference(text)):
        return True
    plain = references.replace_references(text, lambda kind, name: "").strip()
    named = _SECRET_NAME.search(_field_name(at)) is not None or "headers" in at[:-1]
    return named and not _SECTIONS_WITHOUT_SECRETS.intersection(at[:-1]) and plain.lower() not in _SCHEMES


def stays_in_file(text: str, at: FieldPath) -> bool:
    """Whether a text without references is a secret of a provider or a server, which no configuration of a turn
    holds."""
    return _is_secret_of_provider(at) or _is_secret_of_server(text, at) or _may_hold_login(text, at)


def _is_secret_of_provider(at: FieldPath) -> bool:
    return (
        at[0] == "provider"
        and not is_within(at, references.FILE_OPTIONS)
        and ("headers" in at[:-1] or ("options" in at[:-1] and bool(_SECRET_OPTION.search(_field_name(at)))))
    )


def _is_secret_of_server(text: str, at: FieldPath) -> bool:
    return at[0] == "mcp" and (
        bool({"headers", "environment"} & {*at[:-1]}) or at[-1] == "clientSecret" or _REDACTOR.text(text) != text
    )


def _may_hold_login(text: str, at: FieldPath) -> bool:
    return at[0] in ("provider", "mcp") and at[-1] in _ADDRESSES and ("@" in text or _REDACTOR.text(text) != text)


def _field_name(at: FieldPath) -> str:
    """A list's for its items."""
    return next((step for step in reversed(at) if not step.isdigit()), "")
