"""grep shows matching lines by file, and none of what may not be read."""

from dataclasses import replace

import pytest

from activities.files.place import Place
from activities.tools.grep import Grep, GrepParams
from tests.activities.tools.calling import call, surroundings
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rules import Action, Rule

SECRETS = Rule(permission="read", pattern="*.env", action=Action.DENY)


async def test_matches_are_grouped_by_file_in_order(place: Place) -> None:
    (place.directory / "b.txt").write_text("x\nneedle 1\nneedle 2\n")
    (place.directory / "a.txt").write_text("needle 3\n")
    output = await call(Grep(), place, pattern=r"needle \d")
    a, b = place.directory / "a.txt", place.directory / "b.txt"
    assert output.output == f"Found 3 matches\n{a}:\n  Line 1: needle 3\n\n{b}:\n  Line 2: needle 1\n  Line 3: needle 2"
    assert output.metadata == {"matches": 3, "truncated": False}


async def test_hidden_files_are_searched_and_the_repository_is_not(place: Place) -> None:
    (place.directory / ".hidden").write_text("needle\n")
    (place.directory / ".git/config").write_text("needle\n")
    assert "Found 1 matches" in (await call(Grep(), place, pattern="needle")).output


async def test_line_endings_and_other_encodings_do_not_hide_a_match(place: Place) -> None:
    (place.directory / "a.txt").write_bytes(b"caf\xe9 needle\r\n")
    assert (await call(Grep(), place, pattern="needle$")).output.endswith("  Line 1: caf\ufffd needle")


async def test_a_file_as_path_is_searched_alone(place: Place) -> None:
    for name in ("a.txt", "b.txt"):
        (place.directory / name).write_text("needle\n")
    assert "Found 1 matches" in (await call(Grep(), place, pattern="needle", path="a.txt")).output


async def test_what_a_rule_denies_to_read_is_left_out(place: Place) -> None:
    (place.directory / ".env").write_text("needle\n")
    params = GrepParams(pattern="needle")
    plan = await Grep().plan(params, place)
    output = await Grep().run(params, plan, surroundings(replace(place, rules=(SECRETS,))))
    assert output.output == "No files found"


async def test_an_empty_pattern_is_an_error(place: Place) -> None:
    with pytest.raises(ToolError, match="pattern is required"):
        await call(Grep(), place, pattern="")
