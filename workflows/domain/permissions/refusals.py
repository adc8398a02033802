"""What a model reads when a call is refused: the sentences that models and clients know (opencode.md 2.5)."""

import json
from typing import Final

from workflows.domain.permissions.rules import Ruleset, relevant

REJECTED: Final = "The user rejected permission to use this specific tool call."
DISMISSED: Final = "The user dismissed this question"


def denied(permission: str, rules: Ruleset) -> str:
    """The text for a call that a rule denies, with all rules about its permission."""
    listed = json.dumps([rule.model_dump() for rule in relevant(permission, rules)], separators=(",", ":"))
    return (
        "The user has specified a rule which prevents you from using this specific tool call. "
        f"Here are some of the relevant rules {listed}"
    )


def corrected(feedback: str) -> str:
    """The text for a call that a person rejected and said why."""
    return f"{REJECTED.removesuffix('.')} with the following feedback: {feedback}"
