"""How large the part of a conversation is that stays as it is."""

from activities.model.context_split import split_context
from tests.activities.model.test_hostile_conversation import answer, prompt, summary
from workflows.domain.config.config import Compaction
from workflows.domain.messages import TextPart


def test_what_stays_in_any_case_takes_of_the_tail_too() -> None:
    old, new = (
        (prompt(TextPart(text="x" * 400), turn=turn), answer(TextPart(text="y" * 400), turn=turn)) for turn in (1, 2)
    )
    waiting = prompt(TextPart(text="z" * 800), turn=3)
    transcript = (*old, *new, waiting)

    tails = []
    for budget in (399, 400):
        split = split_context(transcript, 0, Compaction(preserve_recent_tokens=budget))
        assert split is not None
        tails.append(split.tail)
    assert tails == [(waiting,), (*new, waiting)]


def test_a_long_earlier_summary_does_not_count_for_what_is_behind_it() -> None:
    turns = (prompt(TextPart(text="a")), answer(TextPart(text="b")), prompt(TextPart(text="c")), answer())

    split = split_context((summary("x" * 40_000), *turns), 0, Compaction(preserve_recent_tokens=100))

    assert split is not None and split.tail == ()
