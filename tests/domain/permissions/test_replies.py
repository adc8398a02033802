"""Sequences of asks and answers, by the store's functions without a store."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import cases
from workflows.domain.ids import GrantId
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.permissions.replies import Reply, covering_grant
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, rules_about
from workflows.domain.permissions.rulesets import Rulesets


@dataclass(frozen=True)
class OpenAsk:
    """An open ask, with the rules of its turn."""

    request: PermissionRequest
    rules: Rulesets

    def is_covered(self, live: list[Grant]) -> bool:
        return covering_grant(PermissionAsk(requests=(self.request,)), self.rules, live) is not None


@dataclass
class Directory:
    """The open asks and the grants of one directory, both by session."""

    asks: dict[str, dict[str, OpenAsk]] = field(default_factory=dict)
    grants: list[tuple[str, Grant]] = field(default_factory=list)

    def open(self, session: str) -> dict[str, OpenAsk]:
        return self.asks.setdefault(session, {})

    def granted(self, session: str) -> list[Grant]:
        return [grant for owner, grant in self.grants if owner == session or grant.scope is GrantScope.PROJECT]


class Play:
    """Plays the steps of a case and notes what is observed."""

    def __init__(self, scope: GrantScope) -> None:
        self.scope = scope
        self.directories: dict[str, Directory] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.events: list[list[str]] = []

    def play(self, steps: list[dict[str, Any]]) -> dict[str, Any]:
        for step in steps:
            directory = self.directories.setdefault(step.get("directory", "dir1"), Directory())
            (self.ask if step["op"] == "ask" else self.reply)(directory, step)
        pending = {
            name: [ask for asks in each.asks.values() for ask in asks] for name, each in self.directories.items()
        }
        return {"results": self.results, "pending": pending, "events": self.events}

    def ask(self, directory: Directory, step: dict[str, Any]) -> None:
        rules = tuple(Rule.model_validate(rule) for rule in step["ruleset"])
        request = PermissionRequest(
            permission=step["permission"], patterns=tuple(step["patterns"]), always=tuple(step["always"])
        )
        match evaluate_request(request, rules, directory.granted(step["session"])).action:
            case Action.ALLOW:
                self.results[step["id"]] = {"status": "resolved"}
            case Action.DENY:
                named = [rule.model_dump(mode="json") for rule in rules_about(request.permission, rules)]
                self.results[step["id"]] = {"status": "error", "error": "DeniedError", "rules": named}
            case Action.ASK:
                self.results[step["id"]] = {"status": "pending"}
                directory.open(step["session"])[step["id"]] = OpenAsk(request, Rulesets.of(rules))
                self.events.append(["permission.asked", step["id"]])

    def reply(self, directory: Directory, step: dict[str, Any]) -> None:
        session = next((name for name, asks in directory.asks.items() if step["id"] in asks), None)
        if session is None:
            self.results[f"reply:{step['id']}"] = {"status": "error", "error": "NotFoundError"}
            return
        ask, reply = directory.open(session)[step["id"]], Reply(step["reply"])
        self.settle(directory.open(session), step["id"], reply, step.get("message"))
        match reply:
            case Reply.ALWAYS:
                self.grant(directory, session, ask)
            case Reply.REJECT if not step.get("message"):
                for other in list(directory.open(session)):
                    self.settle(directory.open(session), other, reply)

    def grant(self, directory: Directory, session: str, ask: OpenAsk) -> None:
        if patterns := ask.rules.savable_patterns(ask.request):
            grant = Grant(
                id=GrantId("gra_1"),
                permission=ask.request.permission,
                patterns=patterns,
                scope=self.scope,
                author="ada",
                time=datetime(2026, 1, 1, tzinfo=UTC),
                asked=ask.rules.asked_rules(ask.request),
            )
            directory.grants.append((session, grant))
        waiting, live = directory.open(session), directory.granted(session)
        for other in [name for name, each in waiting.items() if each.is_covered(live)]:
            self.settle(waiting, other, Reply.ALWAYS)

    def settle(self, asks: dict[str, OpenAsk], ask: str, reply: Reply, message: str | None = None) -> None:
        del asks[ask]
        rejected: dict[str, Any] = {"status": "error", "error": "RejectedError"}
        corrected: dict[str, Any] = {"status": "error", "error": "CorrectedError", "feedback": message}
        told = corrected if message is not None else rejected
        self.results[ask] = told if reply is Reply.REJECT else {"status": "resolved"}
        self.events.append(["permission.replied", ask, reply])


@pytest.mark.parametrize("case", cases.load("permission_flow"))
def test_asks_and_answers_follow_opencode_but_for_what_grants_may_open(case: cases.Case) -> None:
    played = Play(GrantScope.SESSION).play(case.input["steps"])
    if case.holdfast is None:
        assert played == case.expected
        return
    assert _matches_sentence(played["results"], case.holdfast)
    if "only with grant scope project" in case.holdfast:
        assert Play(GrantScope.PROJECT).play(case.input["steps"]) == case.expected


def _matches_sentence(results: dict[str, Any], sentence: str) -> bool:
    said = re.search(r"\b(\w+) (?:stays (pending)|ends with (\w+))$", sentence)
    assert said is not None, f"the sentence {sentence!r} says nothing that can be checked"
    return (said[2] or said[3]) in (results[said[1]]["status"], results[said[1]].get("error"))


def test_grants_answer_an_ask_only_where_they_cover_all_of_it() -> None:
    rules = Rulesets.of(tuple(Rule(permission=name, pattern="*", action=Action.ASK) for name in ("bash", "edit")))
    command, change = (PermissionRequest(permission=name, patterns=("a",)) for name in ("bash", "edit"))
    first, second = (
        Grant(
            id=GrantId(f"gra_{each.permission}"),
            permission=each.permission,
            patterns=("a",),
            author="ada",
            time=datetime(2026, 1, 1, tzinfo=UTC),
            asked=rules.asked_rules(each),
        )
        for each in (command, change)
    )
    asked = PermissionAsk(requests=(command, change))
    found = [covering_grant(asked, rules, live) for live in ([], [first], [second], [second, first])]
    assert found == [None, None, None, first]
