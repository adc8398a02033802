"""Trees are looked through for what the rules hide before a program reads all of them."""

from pathlib import Path

import pytest

from activities.files.place import Place
from activities.shell.analysis import trees
from activities.shell.analysis.trees import hidden_from_us
from activities.shell.programs.reading import Reading
from workflows.domain.permissions.rules import Action, Rule

PLAIN, ALL = Reading(), Reading(hidden=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.txt").touch()
    (tmp_path / ".env").touch()
    rules = (Rule(permission="read", pattern="*.env", action=Action.DENY),)
    return Place(tmp_path, tmp_path, data=tmp_path, home=tmp_path, temporary=tmp_path, rules=rules)


def test_a_denied_file_stands_against_reading_its_tree(place: Place) -> None:
    assert hidden_from_us(place.directory, place, ALL) == "'.env', which a rule denies"
    assert hidden_from_us(place.directory / "src", place, ALL) is None


def test_hidden_files_do_not_count_where_they_are_not_read(place: Place) -> None:
    assert hidden_from_us(place.directory, place, PLAIN) is None
    (place.directory / "src/prod.env").touch()
    assert hidden_from_us(place.directory, place, PLAIN) == "'src/prod.env', which a rule denies"


def test_a_link_to_a_denied_file_counts_where_links_are_followed(place: Place) -> None:
    (place.directory / "src/link").symlink_to("../.env")
    assert hidden_from_us(place.directory / "src", place, ALL) is None
    assert hidden_from_us(place.directory / "src", place, Reading(hidden=True, follows=True)) is not None


def test_a_tree_that_is_too_large_is_not_looked_through(place: Place) -> None:
    for number in range(trees.MOST_ENTRIES // 100 + 1):
        folder = place.directory / "src" / str(number)
        folder.mkdir()
        for name in range(100):
            (folder / str(name)).symlink_to("x")
    told = hidden_from_us(place.directory / "src", place, ALL)
    assert told == "more files below 'src' than can be looked through"
