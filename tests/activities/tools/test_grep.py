"""grep shows matching lines by file, and none of what may not be read."""

from dataclasses import replace

import pytest

from activities.files.place import Place
from activities.tools.grep import Grep, GrepParams
from tests.activities.tools.calling import call, surroundings
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rules import Action, Rule, from_config

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


BUILT_IN = from_config({"*": Action.ALLOW, "read": {"*": Action.ALLOW, "*.env": Action.ASK}}, "/home/u")


async def test_what_is_asked_about_before_it_is_read_is_left_out(place: Place) -> None:
    for name in (".env", "sub/.env", "a.txt"):
        (place.directory / name).parent.mkdir(exist_ok=True)
        (place.directory / name).write_text("needle\n")
    ruled = replace(place, rules=BUILT_IN)
    plan = await Grep().plan(GrepParams(pattern="needle"), ruled)
    output = await Grep().run(GrepParams(pattern="needle"), plan, surroundings(ruled))
    assert output.output == f"Found 1 matches\n{place.directory / 'a.txt'}:\n  Line 1: needle"
    assert [request.permission for request in plan.requests] == ["grep"]


async def test_a_file_that_is_named_is_asked_about_and_then_searched(place: Place) -> None:
    (place.directory / ".env").write_text("needle\n")
    ruled, params = replace(place, rules=BUILT_IN), GrepParams(pattern="needle", path=".env")
    plan = await Grep().plan(params, ruled)
    assert [(request.permission, request.patterns) for request in plan.requests] == [
        ("grep", ("needle",)),
        ("read", (".env",)),
    ]
    assert "Line 1: needle" in (await Grep().run(params, plan, surroundings(ruled))).output


async def test_where_every_reading_is_asked_about_a_search_asks_once_for_all(place: Place) -> None:
    (place.directory / "a.txt").write_text("needle\n")
    ruled = replace(place, rules=from_config({"*": Action.ALLOW, "read": Action.ASK}, "/home/u"))
    plan = await Grep().plan(GrepParams(pattern="needle"), ruled)
    assert [request.permission for request in plan.requests] == ["grep", "read"]
    assert "Line 1" in (await Grep().run(GrepParams(pattern="needle"), plan, surroundings(ruled))).output


async def test_an_empty_pattern_is_an_error(place: Place) -> None:
    with pytest.raises(ToolError, match="pattern is required"):
        await call(Grep(), place, pattern="")
