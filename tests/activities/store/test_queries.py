"""Named queries: every one is found by its name, and every one is used."""

import re
from pathlib import Path

import pytest

from activities.store.queries import Queries

STORE = Path(__file__).parents[3] / "activities" / "store"
NOUNS = sorted(path.stem for path in (STORE / "queries").glob("*.sql"))


def test_a_query_is_the_text_below_its_name() -> None:
    assert Queries("stops").find == b"SELECT id, session, turn FROM stop WHERE id = %(id)s"


def test_a_name_that_is_not_there_is_named_with_its_file() -> None:
    with pytest.raises(AttributeError, match=r"queries/stops.sql has no query named 'fnid'"):
        _ = Queries("stops").fnid


@pytest.mark.parametrize("noun", NOUNS)
def test_every_query_has_a_user(noun: str) -> None:
    text = (STORE / "queries" / f"{noun}.sql").read_text()
    named = set(re.findall(r"^-- name: (\w+)$", text, re.MULTILINE))
    used = set()
    for path in STORE.glob("*.py"):
        source = path.read_text()
        for variable in re.findall(rf'^(\w+): Final = Queries\("{noun}"\)', source, re.MULTILINE):
            used |= set(re.findall(rf"{variable}\.(\w+)", source))
    assert named - used == set()
