"""Assembling a streamed answer."""

from decimal import Decimal

import pytest

from activities.model.port import Finish, Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.stream import Answer, AnswerAssembler, Delta, PartKind
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Price, PriceTier, Tokens

DONE = Finished(Finish.STOP, Tokens(total=3, input=1, output=2))


def test_text_and_reasoning_become_parts_in_the_order_in_which_they_began() -> None:
    answer = assembled(ReasoningDelta("hm"), TextDelta("Hel"), TextDelta("lo"), ReasoningDelta("so"), TextDelta("!"))

    assert answer.parts == (
        ReasoningPart(text="hm"),
        TextPart(text="Hello"),
        ReasoningPart(text="so"),
        TextPart(text="!"),
    )
    assert (answer.finish, answer.tokens) == (Finish.STOP, DONE.tokens)


def test_a_text_of_another_item_is_a_part_of_its_own() -> None:
    answer = assembled(
        TextDelta("Look", 0, "commentary"),
        TextDelta("ing.", 0, "commentary"),
        TextDelta("One.", 1),
        TextDelta("Two.", 2),
    )

    assert answer.parts == (
        TextPart(text="Looking.", phase="commentary"),
        TextPart(text="One."),
        TextPart(text="Two."),
    )


def test_parallel_calls_whose_chunks_interleave_stay_apart() -> None:
    answer = assembled(
        ToolCallDelta(0, "a", "read", '{"p'),
        ToolCallDelta(1, "b", "grep", ""),
        ToolCallDelta(0, None, None, '":1}'),
        ToolCallDelta(1, None, None, "{}"),
    )

    assert answer.calls == (RequestedCall("a", "read", '{"p":1}'), RequestedCall("b", "grep", "{}"))


def test_calls_with_the_same_index_differ_by_id_and_name() -> None:
    answer = assembled(ToolCallDelta(0, "a", "read", "{}"), ToolCallDelta(0, "b", "read", "{}"))

    assert [call.id for call in answer.calls] == ["a", "b"]


def test_an_id_that_is_repeated_with_every_chunk_begins_no_other_call() -> None:
    answer = assembled(ToolCallDelta(0, "a", "read", "{"), ToolCallDelta(0, "a", "read", "}"))

    assert answer.calls == (RequestedCall("a", "read", "{}"),)


@pytest.mark.parametrize(
    ("given", "repaired"),
    [
        (("x", "x", "x"), ("x", "x_2", "x_3")),
        (("", None, ""), ("call_0", "call_1", "call_2")),
        (("x", "x_2", "x"), ("x", "x_2", "x_3")),
        (("x\0", "x\ufffd", "\ud800"), ("x\ufffd", "x\ufffd_2", "?")),
        (("x" * 1000 + "a", "x" * 1000 + "b", "y"), ("x" * 1000, "x" * 1000 + "_2", "y")),
    ],
)
def test_ids_that_cannot_be_sent_and_doubled_ones_are_repaired_in_the_same_way_each_time(
    given: tuple[str | None, ...], repaired: tuple[str, ...]
) -> None:
    answer = assembled(*(ToolCallDelta(index, id, "read", "{}") for index, id in enumerate(given)))

    assert tuple(call.id for call in answer.calls) == repaired


def test_nul_and_lone_surrogates_are_kept() -> None:
    answer = assembled(TextDelta("a\x00"), TextDelta("\ud800b"), ToolCallDelta(0, "a", "read", "\udfff\x00"))

    assert answer.parts == (TextPart(text="a\x00\ud800b"), RequestedCall("a", "read", "\udfff\x00"))


def test_broken_arguments_stay_as_the_model_wrote_them() -> None:
    assert assembled(ToolCallDelta(0, "a", "read", '{"path": ')).calls[0].arguments == '{"path": '


def test_each_event_says_what_it_added_and_where() -> None:
    assembly = AnswerAssembler()
    events: list[ModelEvent] = [
        TextDelta("a"),
        ToolCallDelta(0, "x", "read", ""),
        ToolCallDelta(0, None, None, "{"),
        DONE,
    ]

    deltas = [assembly.add(event) for event in events]
    text, call = assembly.answer().ids
    assert deltas == [
        Delta(text, PartKind.TEXT, "a"),
        Delta(call, PartKind.CALL, "", "read"),
        Delta(call, PartKind.CALL, "{"),
        None,
    ]
    assert text < call


def test_empty_text_makes_no_part() -> None:
    assert assembled(TextDelta(""), ReasoningDelta("")).parts == ()


def test_an_answer_without_its_end_cannot_be_taken() -> None:
    assembly = AnswerAssembler()
    assembly.add(TextDelta("half"))

    with pytest.raises(RuntimeError, match="not finished"):
        assembly.answer()


def assembled(*events: ModelEvent) -> Answer:
    assembly = AnswerAssembler()
    for event in (*events, DONE):
        assembly.add(event)
    return assembly.answer()


@pytest.mark.parametrize(
    ("tokens", "charged", "rate", "dollars"),
    [
        (Tokens(input=1_000_000), None, "3", Decimal(3)),
        (Tokens(input=1_000_000), Decimal("0.1"), "3", Decimal("0.1")),
        (Tokens(input=1_000_000), None, None, None),
        (Tokens(), None, "3", None),
        (Tokens(total=0), None, "3", None),
        (Tokens(), Decimal("0.1"), "3", Decimal("0.1")),
        (Tokens(), None, "0", Decimal(0)),
    ],
)
def test_what_an_answer_costs_is_not_known_without_a_price_or_without_counts(
    tokens: Tokens, charged: Decimal | None, rate: str | None, dollars: Decimal | None
) -> None:
    price = None if rate is None else Price(input=Decimal(rate), tiers=(PriceTier(above=9_000_000),))

    assert Answer((), Finish.STOP, tokens, charged).cost(price) == dollars


def test_calls_without_ids_and_with_one_index_are_several_calls() -> None:
    whole = [ToolCallDelta(0, None, "read", arguments) for arguments in ('{"path":"a"}', "{}", '{"path":"b"}')]
    assert [call.arguments for call in assembled(*whole).calls] == ['{"path":"a"}', "{}", '{"path":"b"}']


def test_a_name_that_is_repeated_with_each_piece_begins_no_other_call() -> None:
    pieces = [ToolCallDelta(0, None, "read", piece) for piece in ("", '{"path"', ':"a"}', "")]
    assert [call.arguments for call in assembled(*pieces).calls] == ['{"path":"a"}']
