"""When a context is full, and what is done about it."""

from typing import Any

import pytest

from activities.model import context_fill
from activities.model.compact import find_summary_flaw
from activities.model.compaction_plan import NoRemedy, ShortenedPrompts, plan_compaction
from activities.model.context_fill import context_tokens, share_room
from activities.model.context_split import ContextSplit
from activities.model.prompt_shortening import shown_text
from activities.store.calls import CallRow
from activities.store.compactions import ShownPrompt
from activities.store.model_answers import NewAnswer
from activities.tools.registry import TOOLS
from activities.tools.tool import Tool
from tests.activities.model.test_hostile_conversation import answer, call, prompt, summary
from workflows.domain.config.config import Compaction
from workflows.domain.context.truncate import share_out, shorten
from workflows.domain.ids import MessageId, PartId
from workflows.domain.messages import (
    AssistantMessage,
    Entry,
    FilePart,
    NewPart,
    Part,
    TextPart,
    Transcript,
    UserMessage,
)
from workflows.domain.usage import Tokens

SECTIONS = "## Objective\nx\n\n## Work state\nx\n\n## **Next move**:\nx"


def said(length: int, name: str = "msg_u") -> UserMessage:
    return prompt(TextPart(text="x" * length)).model_copy(update={"id": MessageId(name)})


def is_full(transcript: Transcript, usable: int) -> bool:
    return context_fill.is_full(transcript, usable, context_tokens(transcript))


def answered(tokens: int, *parts: Part, name: str = "msg_a") -> AssistantMessage:
    found = answer(*parts)
    body = found.body.model_copy(update={"tokens": Tokens(input=tokens)})
    return found.model_copy(update={"id": MessageId(name), "body": body})


def test_results_and_prompts_behind_the_newest_answer_count() -> None:
    before = (said(40), answered(900, call("x" * 400)), said(200))

    assert context_tokens(before) == 1050 and is_full(before, 1050) and not is_full(before, 1051)


@pytest.mark.parametrize(
    ("calls", "used", "usable", "room"),
    [
        ("read", 10_000, 100_000, 270_000),  # three bytes for each token that is left
        ("read read grep", 10_000, 100_000, 90_000),
        ("edit edit read write", 10_000, 100_000, 270_000),  # what an edit says is short
        ("edit edit", 10_000, 100_000, 270_000),
        ("read", 19_500, 20_000, 15_000),  # at least what a compaction would keep
        ("read " * 20, 19_500, 20_000, 1_000),
        ("read", 19_500, 0, None),  # of a window that is not known
    ],
)
def test_the_results_of_an_answer_share_what_the_window_has_left(
    calls: str, used: int, usable: int, room: int | None
) -> None:
    rows = tuple(row(TOOLS[name]) for name in calls.split())

    assert {each.room for each in share_room(rows, used, usable, Compaction())} == {room}


def row(tool: Tool[Any]) -> CallRow:
    ids = {
        "id": "prt_1",
        "session": "ses_1",
        "turn": "trn_1",
        "message": "msg_1",
        "provider_id": "c",
        "loop_digest": "d",
    }
    given = {"step": 1, "position": 0, "arguments": {}, "display": {}, "plan": None, "digest": None}
    return CallRow.model_validate({**ids, **given, "tool": tool.name, "recovery": tool.recovery})


def test_results_that_are_cleared_do_not_count_nor_does_what_the_newest_answer_still_had_of_them() -> None:
    old = call("x" * 4000)
    counted = (said(40), answered(9000, old), said(40), answered(9500), said(40))
    estimated = (said(40), answered(0, old), said(40))

    assert context_tokens(counted, {old.id}, freed=1000) == context_tokens(counted) - 1000
    assert context_tokens(counted, {old.id}) == context_tokens(counted)  # an answer since has counted it
    assert context_tokens(estimated, {old.id}) == context_tokens(estimated) - 1000


def test_a_step_that_no_model_was_asked_for_is_estimated_behind_the_newest_answer_that_was_counted() -> None:
    ordered = answered(0, call("x" * 400), name="msg_b")
    history = (said(40), answered(900), said(40), ordered)

    assert context_tokens(history) == 900 + context_tokens((said(40), ordered))
    compacted = (summary("notes"), answered(5000, name="msg_0"), said(40), ordered)
    assert context_tokens(compacted) == context_tokens((compacted[0], said(40), ordered))


def test_before_the_first_answer_nothing_is_full() -> None:
    assert not is_full((said(400_000),), 1000)


def test_an_answer_from_before_a_summary_does_not_count() -> None:
    compacted = (summary("notes"), answered(5000, name="msg_0"), said(40))

    assert not is_full(compacted, 1000) and context_tokens(compacted) == 11


def test_a_context_that_nothing_was_asked_with_since_its_summary_is_not_summed_up_again() -> None:
    """However long what stays beside it is: the provider says so, if it does not fit."""
    assert not is_full((summary("notes"), answered(10, name="msg_0"), said(9_000)), 1000)


@pytest.mark.parametrize(("prompted", "full"), [(40, False), (4000, True)])
def test_no_further_summary_helps_where_instructions_fill_the_context(prompted: int, full: bool) -> None:
    """It does where the first prompt behind the summary was long."""
    transcript = (summary("notes"), answered(0, name="msg_0"), said(prompted), answered(1100))
    ordered = (*transcript[:3], answered(0, name="msg_b"), *transcript[3:])

    assert is_full(transcript, 1000) == is_full(ordered, 1000) == full


def test_a_prompt_that_takes_most_of_the_window_is_shortened_even_where_compaction_is_off() -> None:
    transcript: tuple[Entry, ...] = (said(400, "msg_1"), answered(900), said(40_000, "msg_2"), said(400, "msg_3"))

    for auto in (True, False):
        plan = plan_compaction(transcript, 6000, Compaction(auto=auto), tried=0, refused=True)
        assert plan == ShortenedPrompts({MessageId("msg_2"): ShownPrompt(shown=11_600)})
    assert isinstance(plan_compaction(transcript, 6000, Compaction(), tried=0, refused=False), ContextSplit)
    assert plan_compaction(transcript, 30_000, Compaction(auto=False), tried=0, refused=True) == NoRemedy(off=True)


def test_what_stays_beside_a_summary_leaves_room_for_more() -> None:
    """Instructions have 3,500 tokens of 6,000, so 1,250 may stay."""
    steps = [answer(TextPart(text="x" * 2000)) for _ in range(5)]
    transcript: tuple[Entry, ...] = (said(400), *steps, answered(6600, TextPart(text="x" * 2000)))

    plan = plan_compaction(transcript, 6000, Compaction(), tried=0, refused=False)

    assert isinstance(plan, ContextSplit) and len(plan.tail) == 2


def test_a_prompt_is_shortened_further_where_nothing_else_is_left() -> None:
    half = said(40_000).model_copy(update={"shown": 12_000})

    plan = plan_compaction((half,), 0, Compaction(), tried=1, refused=True)
    assert plan == ShortenedPrompts({half.id: ShownPrompt(shown=6000)})
    short = half.model_copy(update={"shown": 6000})
    assert plan_compaction((short,), 0, Compaction(), tried=2, refused=True) == NoRemedy()


@pytest.mark.parametrize(
    ("length", "tried", "auto", "shown"),
    [
        (400, 0, True, ShownPrompt(without_files=True)),
        (400, 0, False, ShownPrompt(without_files=True)),
        (10_000, 0, True, ShownPrompt(without_files=True)),  # the pictures are more
        (40_000, 0, True, ShownPrompt(shown=20_000)),
        (40_000, 2, True, ShownPrompt(shown=20_000, without_files=True)),
    ],
)
def test_a_prompt_loses_its_text_or_its_files_whichever_are_more_and_both_at_last(
    length: int, tried: int, auto: bool, shown: ShownPrompt
) -> None:
    pictures = (FilePart(mime="image/png", url="data:image/png;base64,AAAA"),) * 2
    full = prompt(TextPart(text="x" * length), *pictures)
    history: tuple[Entry, ...] = (said(400), answered(900))

    plan = plan_compaction((full,), 0, Compaction(auto=auto), tried=tried, refused=True)

    assert plan == ShortenedPrompts({full.id: shown})
    assert plan_compaction((full,), 0, Compaction(), tried=0, refused=False) == NoRemedy()
    assert isinstance(plan_compaction((*history, full), 0, Compaction(), tried=0, refused=True), ContextSplit)
    assert context_tokens((full.model_copy(update=shown.model_dump()),)) < context_tokens((full,))


def test_where_compaction_is_off_a_prompt_loses_no_text_for_files_that_an_earlier_try_left_out() -> None:
    picture = FilePart(mime="image/png", url="data:image/png;base64,AAAA")
    without = prompt(TextPart(text="x" * 20_000), picture).model_copy(update={"without_files": True})

    plan = plan_compaction((without,), 200_000, Compaction(auto=False), tried=0, refused=True)

    assert plan == NoRemedy(off=True)


def test_a_shortened_prompt_says_what_is_left_out() -> None:
    text = shown_text(prompt(TextPart(text="begin" + "x" * 99 + "end")).model_copy(update={"shown": 10}))

    assert text.startswith("begin\n") and "97 characters" in text and text.endswith("\nxxend")


@pytest.mark.parametrize(
    ("text", "finish", "flaw"),
    [
        (SECTIONS, "stop", None),
        (SECTIONS, "length", "cut"),
        (SECTIONS, "content-filter", "content filter"),
        (SECTIONS, "tool-calls", "is not a summary"),
        (SECTIONS, "unknown", "is not a summary"),
        ("Done.", "stop", "is not a summary"),
        ("", "stop", "is not a summary"),
        (f"{SECTIONS}{'x' * 400}", "stop", "not shorter"),
    ],
)
def test_an_answer_that_is_no_summary_has_a_flaw(text: str, finish: str, flaw: str | None) -> None:
    body = answer().body.model_copy(update={"finish": finish})
    new = NewAnswer(body=body, parts=(NewPart(id=PartId("prt_1"), position=0, body=TextPart(text=text)),))

    found = find_summary_flaw(new, (said(400), answer()))

    assert found == flaw or (flaw is not None and found is not None and flaw in found)


def test_short_texts_are_whole_and_long_ones_share_what_they_leave() -> None:
    assert share_out([10, 1000, 500], 300) == [10, 145, 145]
    assert share_out([10, 20], 300) == [10, 20]
    assert shorten("abcdefgh", 4) == "ab\n[…]\ngh" and shorten("abcd", 4) == "abcd"
