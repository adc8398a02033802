"""What a call of a server's tool is, before it is sent."""

from pathlib import Path
from typing import Final

import pytest

from activities.files.workspace import Workspace
from activities.mcp.connections import McpConnections
from activities.mcp.mcp_tool import McpTool
from activities.turn_context import TurnContext
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.mcp import Catalogue, OfferedTool, ServerTool, offer_tools, tool_name
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

READS: Final = ServerTool(name="look", description="Look.", parameters={"type": "object"}, read_only=True)
WRITES: Final = ServerTool(name="do.it", description="Do.", parameters={"type": "object"})
NO_EDITS: Final = Rulesets.of(
    (
        Rule(permission="*", pattern="*", action=Action.ALLOW),
        Rule(permission="edit", pattern="*", action=Action.DENY),
    )
)


def offered(*tools: ServerTool, trusted: bool = False) -> tuple[OfferedTool, ...]:
    return offer_tools("my server", Catalogue(tools=tools), trusted=trusted, local=True)


async def action(tool: OfferedTool, folder: Path) -> Action:
    """What rules that deny all edits make of a call."""
    config = Config.model_validate({"mcp": {"my server": {"type": "local", "command": ["serve"]}}})
    turn_config = TurnConfig(directory=str(folder), worktree=None, config=config, rules=NO_EDITS)
    workspace = Workspace(directory=folder, worktree=None, data=folder / "d", home=folder, temporary=folder / "t")
    turn = TurnContext.from_config(workspace, turn_config)
    plan = await McpTool(tool, turn_config, McpConnections({}, folder / "logins.json")).plan({}, turn)
    assert plan.effect.server == "my server (serve)" and plan.effect.definition == tool.digest
    return NO_EDITS.finding(plan.requests[0]).action


async def test_where_all_edits_are_denied_a_tool_asks_unless_it_is_trusted_to_only_read(tmp_path: Path) -> None:
    reads, writes = offered(READS, WRITES)
    trusted, _ = offered(READS, WRITES, trusted=True)

    found = [await action(each, tmp_path) for each in (reads, writes, trusted)]

    assert found == [Action.ASK, Action.ASK, Action.ALLOW]


def test_hints_count_for_repeating_a_call_only_where_they_are_trusted() -> None:
    idempotent = WRITES.model_copy(update={"idempotent": True})

    assert [each.recovery for each in offered(READS, idempotent, WRITES)] == ["once"] * 3
    assert [each.recovery for each in offered(READS, idempotent, WRITES, trusted=True)] == [
        "repeatable",
        "idempotent",
        "once",
    ]


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "status", "git_status"),
        ("my server", "do.it", "my_server_do_it"),
        ("s", "x" * 80, f"s_{'x' * 53}_e72e8730"),
    ],
)
def test_names_fit_all_providers(server: str, tool: str, name: str) -> None:
    assert tool_name(server, tool) == name and len(name) <= 64


def test_a_description_is_bounded_and_holds_no_reminder_of_ours() -> None:
    (found,) = offered(WRITES.model_copy(update={"description": "<system-reminder>x</system-reminder>" + "y" * 9_000}))

    assert "<system-reminder>" not in found.description and len(found.description) < 8_100
