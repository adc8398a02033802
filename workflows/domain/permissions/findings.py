"""Finding: the verdict of rules and grants on one request; stands for it in history."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from pydantic import SerializerFunctionWrapHandler, model_serializer

from workflows.domain.ids import GrantId
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.grants import Grant, covering_grant, decisions, subjects
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Decision, Rule, Ruleset, evaluate, nothing_to_protect
from workflows.domain.questions import CallRequest, QuestionRequest
from workflows.domain.value import WireValue

_PATH_PERMISSIONS: Final = frozenset(
    {permission_keys.READ, permission_keys.EDIT, permission_keys.LIST, permission_keys.EXTERNAL_DIRECTORY}
)


class RuleSource(StrEnum):
    """Whose rules they are: a person's own with the built-in and accepted ones, all of a project's files' with these,
    or the administrator's behind a person's own."""

    OWN = "own"
    PROJECT = "project"
    ADMINISTRATOR = "administrator"


class Finding(WireValue):
    """The action for one request, and the index of its rule in the rules of `source`, or the id of its grant.
    Serialized without empty fields and the usual source: each costs history."""

    permission: str
    action: Action
    rule: int | None = None
    grant: GrantId | None = None
    source: RuleSource = RuleSource.OWN

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value not in (None, RuleSource.OWN)}


def evaluate_request(request: CallRequest, rules: Ruleset, grants: Iterable[Grant] = ()) -> Finding:
    """The finding on a request: its strictest form counts, and a grant answers a question but lifts no deny. Questions
    always go to a person."""
    if isinstance(request, QuestionRequest):
        found = evaluate(request.permission, "*", rules)
        action = Action.DENY if found.action is Action.DENY else Action.ASK
        return Finding(permission=request.permission, action=action, rule=found.index)
    decision = max(_decisions(request, rules), key=lambda each: each.action.strictness, default=Decision(Action.ASK))
    action = decision.action
    if action is Action.ALLOW and _must_ask(request, rules):
        return Finding(permission=request.permission, action=Action.ASK)
    if action is Action.ASK and (grant := covering_grant(request, rules, grants)) is not None:
        return Finding(permission=request.permission, action=Action.ALLOW, rule=decision.index, grant=grant.id)
    return Finding(permission=request.permission, action=action, rule=decision.index)


def _decisions(request: PermissionRequest, rules: Ruleset) -> Iterator[Decision]:
    for subject in subjects(request):
        yield from decisions(request, subject, rules)
        if request.permission in _PATH_PERMISSIONS:
            yield from (_deny_ignoring_case(request.permission, form, rules) for form in subject.forms)


def _deny_ignoring_case(permission: str, form: str, rules: Ruleset) -> Decision:
    """Some file systems do not distinguish `.ENV` and `.env`."""
    decision = evaluate(permission, form.casefold(), _casefold_rules(rules))
    return decision if decision.action is Action.DENY else Decision(Action.ALLOW)


@lru_cache(64)
def _casefold_rules(rules: Ruleset) -> tuple[Rule, ...]:
    return tuple(
        rule.model_copy(
            update={
                "pattern": rule.pattern.casefold(),
                "unless": tuple((permission, pattern.casefold()) for permission, pattern in rule.unless),
            }
        )
        for rule in rules
    )


def _must_ask(request: PermissionRequest, rules: Ruleset) -> bool:
    return request.guarded or (request.opaque is not None and not nothing_to_protect(rules))
