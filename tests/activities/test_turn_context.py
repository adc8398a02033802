"""A turn knows what its rules hide, and what its configuration says of outputs."""

from activities.files.workspace import Workspace
from activities.turn_context import TurnContext
from workflows.domain.config.config import Config, ToolOutput
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.context.truncate import OutputLimits
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

ASKED = Rule(permission="read", pattern="*", action=Action.ASK)
DENIED = Rule(permission="read", pattern="*.env", action=Action.DENY)


def test_a_path_is_readable_unless_a_rule_denies_it(workspace: Workspace) -> None:
    turn = TurnContext(workspace, Rulesets.of((ASKED, DENIED)))
    assert turn.may_read(workspace.directory / "a.txt")
    assert not turn.may_read(workspace.directory / "sub" / ".env")


def test_only_a_deny_hides_something(workspace: Workspace) -> None:
    assert not TurnContext(workspace, Rulesets.of((ASKED,))).denies_any_read
    assert TurnContext(workspace, Rulesets.of((ASKED, DENIED))).denies_any_read


def test_a_search_judges_each_file_once_however_many_lines_match(workspace: Workspace) -> None:
    judged: list[str] = []

    class Noting(Rule):
        def decides(self, permission: str, subject: str) -> bool:
            judged.append(subject)
            return super().decides(permission, subject)

    rules = (Noting(permission="read", pattern="*", action=Action.ALLOW),)
    shown = TurnContext(workspace, Rulesets.of(rules)).search_filter(workspace.directory)
    once = len(judged)
    assert all(shown(workspace.directory / "a.txt") for _ in range(100)) and len(judged) <= 3 * once


def test_outputs_are_limited_as_configured_else_as_usual(workspace: Workspace) -> None:
    def limits(configured: Config) -> OutputLimits:
        turn_config = TurnConfig(directory="/", worktree=None, config=configured, rules=Rulesets())
        return TurnContext.from_config(workspace, turn_config).limits

    assert limits(Config()) == OutputLimits()
    assert limits(Config(tool_output=ToolOutput(max_lines=7))).max_lines == 7
