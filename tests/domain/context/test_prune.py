"""Which old results of tools are cleared (opencode.md 5.2)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cases import Case, load
from workflows.domain.config.config import Compaction
from workflows.domain.context.prune import SmallWindow, cleared_calls, find_pruning
from workflows.domain.ids import GenerationId, MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    ContextSummary,
    Entry,
    Outcome,
    ToolPart,
    Transcript,
    UserMessage,
)
from workflows.domain.usage import Tokens

AT = datetime(2026, 1, 31, tzinfo=UTC)
BODY = AnswerMetadata(finish="tool-calls", agent="build", model="scripted/model", tokens=Tokens(), cost=None)
OLD = PartId("old")


def call(id_: str, chars: int, state: CallState = CallState.DONE, tool: str = "bash") -> ToolPart:
    outcome = Outcome(output="x" * chars)
    return ToolPart(id=PartId(id_), provider_id=id_, tool=tool, arguments={}, state=state, outcome=outcome)


def answer(*calls: ToolPart) -> Entry:
    return AssistantMessage(id=MessageId("a"), turn=TurnId("t"), step=1, at=AT, body=BODY, parts=calls)


def prompt() -> Entry:
    return UserMessage(id=MessageId("u"), turn=TurnId("t"), step=1, at=AT, parts=())


def summary() -> Entry:
    newest = MessageId("a")
    return ContextSummary(id=GenerationId("gen_1"), turn=TurnId("t"), step=1, newest=newest, text="Objective: none.")


def conversation(messages: list[dict[str, Any]]) -> Transcript:
    begin = next((place for place, message in enumerate(messages) if message.get("summary")), None)
    entries = [
        prompt()
        if message["role"] == "user"
        else answer(*(call(each["id"], each["chars"], tool=each["tool"]) for each in message["tools"]))
        for message in (messages if begin is None else messages[begin + 1 :])
    ]
    return tuple(entries if begin is None else [summary(), *entries])


@pytest.mark.parametrize("case", load("compaction_prune", op="prune"))
def test_the_results_of_the_case_are_cleared(case: Case) -> None:
    messages = case.input["messages"]
    calls = [each for message in messages for each in message.get("tools", ())]
    transcript = conversation(messages)
    before = next((PartId(each["id"]) for each in calls if each.get("compacted")), None)
    found = find_pruning(transcript, before) if case.input["enabled"] else None

    assert Compaction().prune is False
    after = cleared_calls(transcript, found.call if found else before)
    assert sorted(after - cleared_calls(transcript, before)) == case.expected["pruned_ids"]


def test_what_was_cleared_stays_so_and_nothing_is_cleared_twice() -> None:
    first = (prompt(), answer(call("old", 300_000)), prompt(), prompt())
    found = find_pruning(first, None)
    assert found is not None and (found.call, found.tokens) == (OLD, 75_000)

    assert find_pruning(first, OLD) is None
    later = (*first, answer(call("next", 300_000)), prompt(), prompt())
    newer = find_pruning(later, OLD)
    assert newer is not None and newer.tokens == 75_000
    assert cleared_calls(later, newer.call) == {"old", "next"}


def test_a_long_turn_in_a_small_window_is_cleared_in_proportion() -> None:
    """All but the newest two steps, a fifth of the window, and what is short."""
    steps = [answer(call(f"{number}", 8_000), call(f"{number} short", 399)) for number in range(8)]
    found = find_pruning((prompt(), *steps), None, SmallWindow(20_000, 12_000))

    assert found is not None and (found.call, found.tokens) == ("3", 8_000)
    assert cleared_calls((prompt(), *steps), found.call) == {"0", "1", "2", "3"}
    assert find_pruning((prompt(), *steps), None, SmallWindow(20_000, 11_999)) is None
    assert find_pruning((prompt(), *steps[3:]), None, SmallWindow(20_000, 12_000)) is None


def test_only_results_of_success_that_can_be_had_again_are_cleared() -> None:
    failed, done = call("failed", 300_000, CallState.FAILED), call("done", 300_000)
    code = call("code", 0).model_copy(update={"outcome": Outcome(output="x" * 999 + "<shell_metadata>\nexit code 3")})
    transcript = (prompt(), answer(failed, code, call("task", 9_000, tool="task"), done), prompt(), prompt())

    assert cleared_calls(transcript, PartId("done")) == {"done"}


def test_a_summary_that_stands_for_the_newest_cleared_call_leaves_the_later_results() -> None:
    assert cleared_calls((summary(), answer(call("next", 10))), OLD) == frozenset()
