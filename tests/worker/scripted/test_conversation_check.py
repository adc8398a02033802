"""Malformed conversations."""

from typing import Any

import pytest

from worker.scripted.conversation_check import find_flaw

USER = {"role": "user", "content": "go"}
DONE = {"role": "assistant", "content": "done"}


def calling(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id} for id in ids]}


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": ""}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": "x"}, USER, DONE, USER],
        [USER, calling("a", "b"), result("b"), result("a"), DONE],
        [USER, calling("a"), result("a"), calling("a"), result("a")],
    ],
)
def test_a_sound_conversation_is_taken(messages: list[dict[str, Any]]) -> None:
    assert find_flaw(messages) is None


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "at least one message"),
        ([USER, calling("a")], "without a result: a"),
        ([USER, calling("a", "b"), result("a"), USER], "without a result: b"),
        ([USER, result("a")], "no open call"),
        ([USER, calling("a"), result("a"), result("a")], "no open call"),
        ([USER, calling("a", "a"), result("a")], "same id"),
        ([USER, {"role": "assistant", "content": ""}], "must have content or tool calls"),
        ([{"role": "wizard"}], "unknown role"),
    ],
)
def test_a_malformed_conversation_is_refused_as_providers_do(messages: list[dict[str, Any]], words: str) -> None:
    assert words in (find_flaw(messages) or "")
