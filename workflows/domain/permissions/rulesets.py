"""Rulesets: several sets of rules that judge each request by themselves; the strictest finding counts (security.md 12).

Merging them into one would not do: an allow is also judged by the words that it names, and by whether its set of rules
protects anything.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final

from workflows.domain.permissions import findings, grants, permission_keys, reasons, rules
from workflows.domain.permissions.findings import Finding, RuleSource
from workflows.domain.permissions.grants import Grant, SavableRule
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.wildcard import matches
from workflows.domain.questions import CallRequest
from workflows.domain.value import Value

_OF_FILES: Final = (permission_keys.READ, permission_keys.EDIT, permission_keys.EXTERNAL_DIRECTORY)


class SourcedRules(Value):
    """A set of rules, and whose they are."""

    rules: Ruleset
    source: RuleSource = RuleSource.OWN


class Rulesets(Value):
    """The sets of rules of a turn, one's own first. Without any, everything is asked about."""

    sets: tuple[SourcedRules, ...] = ()

    @classmethod
    def of(cls, *own: Ruleset) -> "Rulesets":
        """Those of one's own, each once."""
        return cls(sets=tuple(SourcedRules(rules=each) for each in dict.fromkeys(own)))

    def with_set(self, other: Ruleset, source: RuleSource) -> "Rulesets":
        """With another set, unless it is one of them."""
        if any(each.rules == other for each in self.sets):
            return self
        return Rulesets(sets=(*self.sets, SourcedRules(rules=other, source=source)))

    def followed_by(self, later: Iterable[Rule]) -> "Rulesets":
        """With `later` rules behind those of each set."""
        return self._changed(lambda known: (*known, *later)) if (later := tuple(later)) else self

    def opened(self, requests: Iterable[PermissionRequest]) -> "Rulesets":
        """What processes of a call may read, edit and reach outside the project after a yes to what is asked: it comes
        from the verdict, not from what their programs seem to do. Each deny holds; protected files, which no rule
        names, stay closed unless an allow names them exactly. There is no permission for the network yet."""
        asked = [each for each in requests if each.permission in _OF_FILES and self.finding(each).action is Action.ASK]
        subjects = [(each.permission, pattern) for each in asked for pattern in each.patterns]
        allows = [Rule(permission=name, pattern=pattern, action=Action.ALLOW) for name, pattern in subjects]

        def after_yes(known: Ruleset) -> Ruleset:
            of_files = tuple(rule for rule in known if any(matches(name, rule.permission) for name in _OF_FILES))
            return (*of_files, *allows, *rules.only_denies(of_files))

        return self._changed(after_yes)

    def asking(self, permissions: Iterable[str]) -> "Rulesets":
        """Asks about what is allowed of these permissions, too."""
        asks = [Rule(permission=each, pattern="*", action=Action.ASK) for each in permissions]
        if not asks or not self.sets:
            return self
        return self.with_set((*self.sets[0].rules, *asks), RuleSource.OWN)

    def findings(self, request: CallRequest, live: Iterable[Grant] = ()) -> list[Finding]:
        """One of each set."""
        live = tuple(live)
        return [findings.evaluate_request(request, each.rules, live) for each in self.sets or (SourcedRules(rules=()),)]

    def finding(self, request: CallRequest, live: Iterable[Grant] = ()) -> Finding:
        """The strictest: a question is answered by grants in each set that raises it."""
        found = self.findings(request, live)
        strictest = max(found, key=lambda each: (each.action.strictness, each.grant is not None))
        source = self.sets[found.index(strictest)].source if self.sets else RuleSource.OWN
        return strictest if source is RuleSource.OWN else strictest.model_copy(update={"source": source})

    def action(self, permission: str, subject: str) -> Action:
        """The strictest decision of the rules alone."""
        found = (rules.evaluate(permission, subject, each.rules).action for each in self.sets)
        return max(found, key=lambda each: each.strictness, default=Action.ASK)

    def hides(self, permission: str) -> bool:
        """Whether its tools are not offered."""
        return any(rules.is_switched_off(permission, each.rules) for each in self.sets)

    def denies_by_default(self, permission: str) -> bool:
        """As `rules.is_denied_by_default`, of any set."""
        return any(rules.is_denied_by_default(permission, each.rules) for each in self.sets)

    def denials(self) -> Ruleset:
        """What any set denies, as `rules.only_denies` gives it."""
        return tuple(dict.fromkeys(rule for each in self.sets for rule in rules.only_denies(each.rules)))

    @cached_property
    def flat(self) -> Ruleset:
        """The rules of all sets, each once, in their order."""
        return tuple(dict.fromkeys(rule for each in self.sets for rule in each.rules))

    def source(self, rule: Rule) -> RuleSource:
        """Whose rule it is: one's own, if it is in a set of these."""
        return next(each.source for each in self.sets if rule in each.rules)

    def asked_rules(self, request: PermissionRequest) -> tuple[Rule, ...]:
        """The configured rules that make it a question."""
        return tuple(dict.fromkeys(rule for each in self.sets for rule in grants.asked_rules(request, each.rules)))

    def savable_patterns(self, request: PermissionRequest) -> tuple[str, ...]:
        """What "always" saves."""
        return grants.savable_patterns(request, self.asked_rules(request))

    def savable(self, asked: PermissionAsk) -> tuple[SavableRule, ...]:
        """What "always" saves of each request, if anything."""
        found = ((each.permission, self.savable_patterns(each)) for each in asked.requests)
        return tuple(SavableRule(permission=name, patterns=patterns) for name, patterns in found if patterns)

    def reasons(self, request: PermissionRequest) -> tuple[str, ...]:
        """Why it is asked about, each once; completes "because …"."""
        found = dict.fromkeys(why for each in self.sets for why in self._reasons(request, each))
        return tuple(found) or reasons.without_rule(request)

    def reasons_of(self, asked: PermissionAsk) -> tuple[str, ...]:
        """Why any of the requests is asked about, each once."""
        return tuple(dict.fromkeys(why for each in asked.requests for why in self.reasons(each)))

    def _reasons(self, request: PermissionRequest, judged: SourcedRules) -> Iterable[str]:
        yield from reasons.reasons(request, judged.rules, self._owner)
        if judged.source is RuleSource.PROJECT:
            own = Rulesets(sets=tuple(each for each in self.sets if each.source is RuleSource.OWN))
            allowed = findings.evaluate_request(request, judged.rules).action is Action.ALLOW
            if allowed and own.finding(request).action is Action.ASK:
                yield "the project's rules allow it, but count only once a person accepts them (`holdfast trust`)"

    def _owner(self, rule: Rule) -> str:
        source = self.source(rule)
        return "the" if source is RuleSource.OWN else f"the {source}'s"

    def _changed(self, change: Callable[[Ruleset], Ruleset]) -> "Rulesets":
        return Rulesets(sets=tuple(each.model_copy(update={"rules": change(each.rules)}) for each in self.sets))
