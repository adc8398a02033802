"""What of a conversation a summary stands for, and what stays (opencode.md 5.3)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from activities.model.context_split import estimate_tokens, split_context
from tests.cases import Case, load
from workflows.domain.config.config import Compaction
from workflows.domain.context_window import usable_tokens
from workflows.domain.ids import GenerationId, MessageId, TurnId
from workflows.domain.messages import AnswerMetadata, AssistantMessage, ContextSummary, Entry, TextPart, UserMessage
from workflows.domain.usage import Tokens

AT = datetime(2026, 1, 31, tzinfo=UTC)
BODY = AnswerMetadata(finish="stop", agent="build", model="scripted/model", tokens=Tokens(), cost=None)
# The mark stands behind an answer: a prompt stays with the answer that follows it.
APART = "[reference] compaction tail: previous turn partially kept with the remaining budget"


def entry(message: dict[str, Any]) -> Entry:
    text = TextPart(text="x" * 4 * message["tokens"])
    place = {"id": MessageId(message["id"]), "turn": TurnId(message["id"][1:]), "step": 1, "at": AT, "parts": (text,)}
    return UserMessage(**place) if message["role"] == "user" else AssistantMessage(body=BODY, **place)


@pytest.mark.parametrize("case", load("compaction_prune", op="select_tail"))
def test_the_tail_begins_as_in_the_case(case: Case) -> None:
    settings = Compaction(preserve_recent_tokens=case.input["budget"], tail_turns=case.input.get("tail_turns"))
    split = split_context(tuple(map(entry, case.input["messages"])), 100_000, settings)

    assert split is not None
    expected = ["u1", "a1", "u2", "a2"] if case.fields["name"] == APART else case.expected["summarised_ids"]
    assert [each.id for each in split.head] == expected


@pytest.mark.parametrize("case", load("compaction_prune", op="tail_budget"))
def test_the_tail_has_as_many_tokens_as_in_the_case(case: Case) -> None:
    limit, settings = case.input["model_limit"], Compaction.model_validate(case.input["config"].get("compaction", {}))
    usable = usable_tokens(context=limit["context"], max_input=0, max_output=limit["output"], compaction=settings)
    tokens = case.expected["tokens"]

    assert kept([100_000, tokens - 1, 1], usable, settings) == 2
    assert kept([100_000, tokens, 1], usable, settings) == 1


def kept(sizes: list[int], usable: int, settings: Compaction) -> int:
    """How many answers of these tokens stay."""
    answers = tuple(entry({"id": f"a{n}", "role": "assistant", "tokens": size}) for n, size in enumerate(sizes))
    split = split_context(answers, usable, settings)
    assert split is not None
    return len(split.tail)


@pytest.mark.parametrize("case", load("compaction_prune", op="estimate"))
def test_characters_count_as_in_the_case(case: Case) -> None:
    text = TextPart(text="x" * case.input["characters"])
    prompt = UserMessage(id=MessageId("u1"), turn=TurnId("1"), step=1, at=AT, parts=(text,))

    assert estimate_tokens([prompt]) == case.expected["tokens"]


def test_a_prompt_without_an_answer_stays() -> None:
    messages = [{"id": "u1", "role": "user"}, {"id": "a1", "role": "assistant"}, {"id": "u2", "role": "user"}]
    entries = tuple(entry({**message, "tokens": 9000}) for message in messages)
    split = split_context(entries, 10_000, Compaction())

    assert split is not None and [each.id for each in split.tail] == ["u2"]


def test_without_an_answer_besides_a_summary_there_is_nothing_to_summarise() -> None:
    summary = ContextSummary(
        id=GenerationId("gen_1"), turn=TurnId("1"), step=1, newest=MessageId("a1"), text="Objective: none."
    )
    prompt = entry({"id": "u2", "role": "user", "tokens": 9000})

    assert split_context((summary, prompt), 10_000, Compaction()) is None
