"""Long output is shortened for the model and kept whole in a private file."""

import os
import stat
from pathlib import Path

import pytest

from activities.calls.output import delete_old_outputs, outcome_of
from activities.files.workspace import Workspace
from activities.tools.tool import Output
from activities.turn_context import TurnContext
from tests import cases
from tests.activities.tools.tool_calls import make_context
from workflows.domain.context.truncate import OutputLimits


async def test_short_output_stays_as_it_is(workspace: Workspace) -> None:
    outcome = await outcome_of(Output(title="t", output="short", metadata={"a": 1}), make_context(workspace))
    assert (outcome.title, outcome.output, outcome.metadata) == ("t", "short", {"a": 1})
    assert not workspace.tool_output.exists()


async def test_long_output_is_kept_whole_in_a_private_file(workspace: Workspace) -> None:
    text = "line\n" * 3000 + "\ud800"
    outcome = await outcome_of(Output(title="", output=text), make_context(workspace))
    saved = workspace.tool_output / "tool_prt_1"
    assert saved.read_bytes().decode("utf-8", "surrogatepass") == text
    assert outcome.metadata == {"truncated": True, "outputPath": str(saved)}
    assert outcome.output.startswith(f"(Shown: lines 1-400 and 1402-3001 of 3001. All of it is in {saved}: ")
    assert outcome.output.endswith(
        "\n\n" + "line\n" * 400 + "\n... 1001 lines left out ...\n\n" + "line\n" * 1599 + "\ud800"
    )
    assert (stat.S_IMODE(saved.stat().st_mode), stat.S_IMODE(saved.parent.stat().st_mode)) == (0o600, 0o700)


async def test_a_second_attempt_saves_its_own_output(workspace: Workspace) -> None:
    for text in ("first\n", "second\n"):
        await outcome_of(Output(title="", output=text * 3000), make_context(workspace))
    assert (workspace.tool_output / "tool_prt_1").read_text() == "second\n" * 3000


async def test_the_limits_can_be_set(workspace: Workspace) -> None:
    outcome = await outcome_of(
        Output(title="", output="a\nb\nc"),
        make_context(workspace, turn=TurnContext(workspace, limits=OutputLimits(max_lines=1))),
    )
    assert outcome.output.startswith("(Shown: lines 3-3 of 3. ") and outcome.output.endswith(")\n\nc")


@pytest.mark.parametrize("flags", [{"truncated": True}, {"metadata": {"truncated": False}}])
async def test_a_tool_that_says_whether_it_truncated_is_left_alone(
    workspace: Workspace, flags: dict[str, object]
) -> None:
    text = "line\n" * 3000
    output = Output.model_validate({"title": "", "output": text} | flags)
    assert (await outcome_of(output, make_context(workspace))).output == text


@pytest.mark.parametrize("case", cases.load("truncation", op="truncate_hint"))
async def test_a_model_that_cannot_delegate_is_told_to_search(case: cases.Case, workspace: Workspace) -> None:
    outcome = await outcome_of(Output(title="", output="line\n" * 3000), make_context(workspace))
    hint = outcome.output.partition("All of it is in ")[2]
    assert case.expected["hint"] == "grep_or_read"
    assert "grep" in hint
    assert "read" in hint


@pytest.mark.parametrize("case", cases.load("truncation", op="cleanup"))
def test_old_outputs_are_forgotten(case: cases.Case, tmp_path: Path) -> None:
    now = 1_700_000_000
    for file in case.input["files"]:
        (tmp_path / file["name"]).touch()
        changed = now - file["age_days"] * 86_400
        os.utime(tmp_path / file["name"], (changed, changed))
    assert sorted(delete_old_outputs(tmp_path, now)) == sorted(case.expected["deleted"])
    assert not any((tmp_path / name).exists() for name in case.expected["deleted"])
