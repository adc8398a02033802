"""Skill: a text that a model loads when it needs it (opencode.md 9)."""

import re
from collections.abc import Iterable
from typing import Final

from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.value import Value

# Rules are about names, and an "always" saves one as a pattern: it holds no wildcard.
_NAME: Final = re.compile(r"\w[\w .:/@+-]{0,99}(?<! )")


class Skill(Value):
    """Its text is read from `file` when a model loads it. Without a description, models do not see it. `trusted`: the
    user's own, whose links may lead anywhere."""

    name: str
    description: str | None = None
    file: str
    trusted: bool = False


def is_skill_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def skill_action(skill: Skill, rules: Rulesets) -> Action:
    return rules.action(permission_keys.SKILL, skill.name)


def usable_skills(skills: Iterable[Skill], rules: Rulesets) -> tuple[Skill, ...]:
    """The skills that no rule denies."""
    return tuple(skill for skill in skills if skill_action(skill, rules) is not Action.DENY)


def described_skills(skills: Iterable[Skill], rules: Rulesets) -> list[Skill]:
    """The skills that models may see."""
    return [each for each in usable_skills(skills, rules) if each.description]
