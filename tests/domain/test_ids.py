"""Ids sort by time, and have OpenCode's form."""

import random

from workflows.domain.ids import MessageId, Prefix, is_id, mint, session_id_for

SOURCE = random.Random(1)


def test_an_id_has_prefix_twelve_hex_digits_and_fourteen_characters() -> None:
    minted = mint(Prefix.MESSAGE, 1_700_000_000_000, 0, SOURCE)
    assert is_id(Prefix.MESSAGE, minted) and len(minted) == 30


def test_messages_sort_oldest_first_also_within_a_millisecond() -> None:
    minted = [mint(Prefix.MESSAGE, 5, counter, SOURCE) for counter in range(3)] + [mint(Prefix.MESSAGE, 6, 0, SOURCE)]
    assert sorted(minted) == minted


def test_sessions_sort_newest_first() -> None:
    older, newer = (mint(Prefix.SESSION, moment, 0, SOURCE) for moment in (1_000, 2_000))
    assert newer < older


def test_another_prefix_or_length_is_no_id() -> None:
    minted = mint(Prefix.ASK, 1, 0, SOURCE)
    assert not is_id(Prefix.SESSION, minted) and not is_id(Prefix.ASK, minted + "x")


def test_the_session_of_a_prompt_has_a_form_and_an_order_of_its_own() -> None:
    older, newer = (MessageId(mint(Prefix.MESSAGE, moment, 0, SOURCE)) for moment in (1_000, 2_000))
    assert is_id(Prefix.SESSION, session_id_for(older)) and session_id_for(newer) < session_id_for(older)
