"""New ids: well-formed, and in the order of their creation."""

import random
import time

import pytest

from activities.new_ids import new_id
from workflows.domain.ids import Prefix, is_id, mint


@pytest.mark.parametrize("prefix", Prefix)
def test_an_id_has_its_form(prefix: Prefix) -> None:
    assert is_id(prefix, new_id(prefix))


def test_ids_sort_in_the_order_of_their_making_also_within_a_millisecond() -> None:
    made = [new_id(Prefix.MESSAGE) for _ in range(3000)]
    assert sorted(made) == made and len(set(made)) == len(made)


def test_the_newest_session_sorts_first() -> None:
    made = [new_id(Prefix.SESSION) for _ in range(100)]
    assert sorted(made, reverse=True) == made


def test_an_id_follows_one_of_a_clock_that_is_ahead() -> None:
    ahead = mint(Prefix.MESSAGE, (time.time_ns() // 1_000_000) + 3_600_000, 4095, random.Random(1))
    follows = new_id(Prefix.GENERATION, after=ahead)
    assert follows[3:] > ahead[3:] and is_id(Prefix.GENERATION, follows)
