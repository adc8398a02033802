"""Texts of refused calls, in sentences that models and clients know (opencode.md 2.5)."""

import json
from typing import Final

from workflows.domain.permissions.rules import Ruleset, rules_about

REJECTED: Final = "The user rejected permission to use this specific tool call."
DISMISSED: Final = "The user dismissed this question"


def denial_text(permission: str, rules: Ruleset) -> str:
    """The text for a call that a rule denies, with all rules about its permission."""
    listed = json.dumps([rule.model_dump() for rule in rules_about(permission, rules)], separators=(",", ":"))
    return (
        "The user has specified a rule which prevents you from using this specific tool call. "
        f"Here are some of the relevant rules {listed}"
    )


def rejection_text(refused: str, feedback: str | None) -> str:
    """`refused`: one of the sentences above."""
    return f"{refused.removesuffix('.')} with the following feedback: {feedback}" if feedback else refused
