"""Trees are looked through for what the rules hide before a program reads all of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from activities.files.place import Place
from activities.shell.analysis import trees
from activities.shell.analysis.trees import TooLarge, withheld_below
from activities.shell.analysis.work import TooMuchWork, Work
from activities.shell.programs.reading import Reading
from workflows.domain.permissions.rules import Action, Rule

PLAIN, ALL = Reading(), Reading(hidden=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.txt").touch()
    (tmp_path / ".env").touch()
    rules = (
        Rule(permission="read", pattern="*", action=Action.ALLOW),
        Rule(permission="read", pattern="*.env", action=Action.DENY),
    )
    return Place(tmp_path, tmp_path, data=tmp_path, home=tmp_path, temporary=tmp_path, rules=rules)


def names(tree: Path, place: Place, reading: Reading) -> list[str]:
    return [str(path.relative_to(place.directory)) for path in withheld_below(tree, place, reading, Work()).denied]


def test_a_denied_file_stands_against_reading_its_tree(place: Place) -> None:
    assert names(place.directory, place, ALL) == [".env"]
    assert names(place.directory / "src", place, ALL) == []


def test_hidden_files_do_not_count_where_they_are_not_read(place: Place) -> None:
    assert names(place.directory, place, PLAIN) == []
    (place.directory / "src/prod.env").touch()
    assert names(place.directory, place, PLAIN) == ["src/prod.env"]


def test_a_link_to_a_denied_file_counts_where_links_are_followed(place: Place) -> None:
    (place.directory / "src/link").symlink_to("../.env")
    assert names(place.directory / "src", place, ALL) == []
    assert names(place.directory / "src", place, Reading(hidden=True, follows=True)) == [".env"]


def test_a_file_that_a_rule_asks_about_is_told_apart_from_a_denied_one(place: Place) -> None:
    asking = Rule(permission="read", pattern="src/*", action=Action.ASK)
    found = withheld_below(place.directory, replace(place, rules=(*place.rules, asking)), ALL, Work())
    assert (found.asked, found.denied) == ((place.directory / "src/a.txt",), (place.directory / ".env",))


def test_a_tree_that_is_too_large_is_not_looked_through(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_ENTRIES", 2)
    with pytest.raises(TooLarge, match="more files below .* than can be looked through"):
        withheld_below(place.directory, place, ALL, Work())


def test_looking_through_a_tree_is_work(place: Place) -> None:
    with pytest.raises(TooMuchWork):
        withheld_below(place.directory, place, ALL, Work(1))
