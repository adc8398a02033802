"""Finding: what rules and grants say of one request; all that history learns of it."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from pydantic import SerializerFunctionWrapHandler, model_serializer

from workflows.domain.ids import GrantId
from workflows.domain.permissions.grants import Grant, covering, decisions, subjects
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Decision, Rule, Ruleset, evaluate, nothing_to_protect
from workflows.domain.value import Value

_PATHS: Final = frozenset({"read", "edit", "list", "external_directory"})


class Finding(Value):
    """What is said of one request: the action, and the index of the rule or the id of the grant that says it.

    It goes through history once per request, so it is written without what is empty.
    """

    permission: str
    action: Action
    rule: int | None = None
    grant: GrantId | None = None

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}


def finding(request: PermissionRequest, rules: Ruleset, grants: Iterable[Grant] = ()) -> Finding:
    """Judge a request: a deny holds whatever was granted; a grant answers a question; the strictest form counts."""
    decision = max(_decisions(request, rules), key=lambda each: each.action.strictness, default=Decision(Action.ASK))
    action = decision.action
    if action is Action.ALLOW and _raised(request, rules):
        return Finding(permission=request.permission, action=Action.ASK)
    if action is Action.ASK and (grant := covering(request, rules, grants)) is not None:
        return Finding(permission=request.permission, action=Action.ALLOW, rule=decision.index, grant=grant.id)
    return Finding(permission=request.permission, action=action, rule=decision.index)


def _decisions(request: PermissionRequest, rules: Ruleset) -> Iterator[Decision]:
    for subject in subjects(request):
        yield from decisions(request, subject, rules)
        if request.permission in _PATHS:
            yield from (_denied_in_any_case(request.permission, form, rules) for form in subject.forms)


def _denied_in_any_case(permission: str, form: str, rules: Ruleset) -> Decision:
    """A path that a deny names meets it in any case: some file systems do not tell `.ENV` from `.env`."""
    decision = evaluate(permission, form.casefold(), _folded(rules))
    return decision if decision.action is Action.DENY else Decision(Action.ALLOW)


@lru_cache(64)
def _folded(rules: Ruleset) -> tuple[Rule, ...]:
    return tuple(
        rule.model_copy(
            update={
                "pattern": rule.pattern.casefold(),
                "unless": tuple((permission, pattern.casefold()) for permission, pattern in rule.unless),
            }
        )
        for rule in rules
    )


def _raised(request: PermissionRequest, rules: Ruleset) -> bool:
    return request.guarded or (request.opaque is not None and not nothing_to_protect(rules))
