"""grep shows matching lines by file, and none of what may not be read."""

import pytest

from activities.files.workspace import Workspace
from activities.tools.grep import GrepParams, GrepTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import call, make_context
from workflows.domain.context.truncate import OutputLimits
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rules import Action, Rule, from_config
from workflows.domain.permissions.rulesets import Rulesets

ROOM = OutputLimits(max_bytes=1_000)
SECRETS = Rule(permission="read", pattern="*.env", action=Action.DENY)


async def test_matches_are_grouped_by_file_in_order(workspace: Workspace) -> None:
    (workspace.directory / "b.txt").write_text("x\nneedle 1\nneedle 2\n")
    (workspace.directory / "a.txt").write_text("needle 3\n")
    output = await call(GrepTool(), workspace, pattern=r"needle \d")
    assert output.output == (
        "Found 3 matches\na.txt:\n  Line 1: needle 3\n\nb.txt:\n  Line 2: needle 1\n  Line 3: needle 2"
    )
    assert output.metadata == {"matches": 3, "truncated": False}


async def test_hidden_files_are_searched_and_the_repository_is_not(workspace: Workspace) -> None:
    (workspace.directory / ".hidden").write_text("needle\n")
    (workspace.directory / ".git/config").write_text("needle\n")
    for include in (None, "*", "**/*", "{.hidden,config}"):
        output = await call(GrepTool(), workspace, pattern="needle", include=include)
        assert output.output == "Found 1 matches\n.hidden:\n  Line 1: needle"


async def test_line_endings_and_other_encodings_do_not_hide_a_match(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_bytes(b"caf\xe9 needle\r\n")
    assert (await call(GrepTool(), workspace, pattern="needle$")).output.endswith("  Line 1: caf\ufffd needle")


async def test_a_file_as_path_is_searched_alone(workspace: Workspace) -> None:
    for name in ("a.txt", "b.txt"):
        (workspace.directory / name).write_text("needle\n")
    assert "Found 1 matches" in (await call(GrepTool(), workspace, pattern="needle", path="a.txt")).output


async def test_what_a_rule_denies_to_read_is_left_out(workspace: Workspace) -> None:
    (workspace.directory / ".env").write_text("needle\n")
    params = GrepParams(pattern="needle")
    plan = await GrepTool().plan(params, TurnContext(workspace))
    ruled = TurnContext(workspace, Rulesets.of((SECRETS,)))
    output = await GrepTool().run(params, plan, make_context(workspace, turn=ruled))
    assert output.output == "There is no file to search in .; files that git ignores or rules protect are left out."


BUILT_IN = from_config({"*": Action.ALLOW, "read": {"*": Action.ALLOW, "*.env": Action.ASK}}, "/home/u")


async def test_what_is_asked_about_before_it_is_read_is_left_out(workspace: Workspace) -> None:
    for name in (".env", "sub/.env", "a.txt"):
        (workspace.directory / name).parent.mkdir(exist_ok=True)
        (workspace.directory / name).write_text("needle\n")
    ruled = TurnContext(workspace, Rulesets.of(BUILT_IN))
    plan = await GrepTool().plan(GrepParams(pattern="needle"), ruled)
    output = await GrepTool().run(GrepParams(pattern="needle"), plan, make_context(workspace, turn=ruled))
    assert output.output == "Found 1 matches\na.txt:\n  Line 1: needle"
    assert [request.permission for request in plan.requests] == ["grep"]


async def test_a_file_that_is_named_is_asked_about_and_then_searched(workspace: Workspace) -> None:
    (workspace.directory / ".env").write_text("needle\n")
    ruled, params = TurnContext(workspace, Rulesets.of(BUILT_IN)), GrepParams(pattern="needle", path=".env")
    plan = await GrepTool().plan(params, ruled)
    assert [(request.permission, request.patterns) for request in plan.requests] == [
        ("grep", ("needle",)),
        ("read", (".env",)),
    ]
    assert "Line 1: needle" in (await GrepTool().run(params, plan, make_context(workspace, turn=ruled))).output


async def test_where_every_reading_is_asked_about_a_search_asks_once_for_all(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_text("needle\n")
    ruled = TurnContext(workspace, Rulesets.of(from_config({"*": Action.ALLOW, "read": Action.ASK}, "/home/u")))
    plan = await GrepTool().plan(GrepParams(pattern="needle"), ruled)
    assert [request.permission for request in plan.requests] == ["grep", "read"]
    assert (
        "Line 1"
        in (await GrepTool().run(GrepParams(pattern="needle"), plan, make_context(workspace, turn=ruled))).output
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "No line matches; files searched: 3."),
        ({"path": "po/de/a.po"}, "No line matches; files searched: 1."),
        ({"include": "*.x"}, "No file in . fits include '*.x'."),
        (
            {"path": "po", "include": "./de/a*"},
            "No file in po fits include './de/a*'. A pattern with `/` counts from there: `**/de/a*` fits at any depth.",
        ),
        ({"path": "po", "include": "**/de/*"}, "No line matches; files searched: 2."),
    ],
)
async def test_an_empty_result_says_why(workspace: Workspace, arguments: dict[str, str], said: str) -> None:
    for name in ("a.txt", "po/de/a.po", "po/x/de/b.po"):
        (workspace.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.directory / name).touch()
    assert (await call(GrepTool(), workspace, pattern="needle", **arguments)).output == said


async def test_an_empty_result_names_a_link_in_include(workspace: Workspace) -> None:
    (workspace.directory.parent / "elsewhere").mkdir()
    (workspace.directory / "dl").symlink_to("../elsewhere")
    output = await call(GrepTool(), workspace, pattern="needle", path="", include="dl/*")
    assert output.output.endswith(" 'dl' is a link, and a search follows none: give it as `path`.")


async def test_a_file_outside_keeps_its_whole_path(workspace: Workspace) -> None:
    (workspace.directory.parent / "a.txt").write_text("needle\n")
    output = await call(GrepTool(), workspace, pattern="needle", path="../a.txt")
    assert output.output == f"Found 1 matches\n{workspace.directory.parent}/a.txt:\n  Line 1: needle"


@pytest.mark.parametrize(("length", "shown"), [(200, 4), (1900, 1)])
async def test_matches_for_which_there_is_no_room_are_said_to_be_left_out(
    workspace: Workspace, length: int, shown: int
) -> None:
    (workspace.directory / "a.txt").write_text(f"needle {'x' * length}\n" * 9)
    turn = TurnContext(workspace, limits=ROOM)
    plan = await GrepTool().plan(GrepParams(pattern="needle"), turn)
    output = await GrepTool().run(GrepParams(pattern="needle"), plan, make_context(workspace, turn=turn))
    assert output.output.startswith(f"Found {shown} matches (more matches available)\n")
    assert output.output.count("needle") == shown and "(Results truncated. " in output.output


async def test_an_empty_pattern_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="pattern is required"):
        await call(GrepTool(), workspace, pattern="")
