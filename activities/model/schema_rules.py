"""What families of models refuse of a tool's JSON schema."""

import re
from dataclasses import dataclass
from typing import Final

from activities.model.endpoint import Endpoint


@dataclass(frozen=True)
class SchemaRules:
    """What a family of models refuses of the common form.

    `keywords`: the ones that it takes, of those that bound a value (None: all). `text_values`: only texts can be listed
    (`enum`). `names`: of properties (None: any). `default_type`: of properties and items that may be anything, where
    each must have a type.
    """

    keywords: frozenset[str] | None = None
    text_values: bool = False
    names: re.Pattern[str] | None = None
    default_type: str | None = None


# ai.google.dev/gemini-api/docs/structured-output#json_schema_support; texts only: OpenCode's transform
_GEMINI: Final = SchemaRules(
    keywords=frozenset({"minimum", "maximum", "minItems", "maxItems", "default"}), text_values=True
)
# "property names outside letters, digits, underscores, dots, and hyphens (1-64 characters)" are refused
_CLAUDE: Final = SchemaRules(names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))
# "At path 'properties.x': type is not defined"
_KIMI: Final = SchemaRules(default_type="string")
_FAMILIES: Final = (
    (re.compile("gemini"), _GEMINI),
    (re.compile("kimi|moonshot"), _KIMI),
    (re.compile("claude|anthropic"), _CLAUDE),
)


def rules_for(endpoint: Endpoint) -> SchemaRules:
    """By the wire, and by the model's name: many providers serve a family."""
    name = f"{endpoint.wire}/{endpoint.model}/{endpoint.behind}".lower()
    return next((rules for pattern, rules in _FAMILIES if pattern.search(name)), SchemaRules())
