"""Trees are searched for files that rules withhold before a program reads them."""

from dataclasses import replace
from pathlib import Path

import pytest

from activities.files.workspace import Workspace
from activities.shell.analysis import directory_trees
from activities.shell.analysis.budget import WorkBudget
from activities.shell.analysis.directory_trees import withheld_in_tree
from activities.shell.programs.parsed_arguments import ParsedArguments
from activities.turn_context import TurnContext
from workflows.domain.errors import TreeTooLarge, WorkBudgetExceeded
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

PLAIN, ALL = ParsedArguments(), ParsedArguments(hidden=True)


@pytest.fixture
def turn(tmp_path: Path) -> TurnContext:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.txt").touch()
    (tmp_path / ".env").touch()
    rules = (
        Rule(permission="read", pattern="*", action=Action.ALLOW),
        Rule(permission="read", pattern="*.env", action=Action.DENY),
    )
    workspace = Workspace(tmp_path, tmp_path, data=tmp_path, home=tmp_path, temporary=tmp_path)
    return TurnContext(workspace, Rulesets.of(rules))


def names(tree: Path, turn: TurnContext, parsed_arguments: ParsedArguments) -> list[str]:
    return [
        str(path.relative_to(turn.workspace.directory))
        for path in withheld_in_tree(tree, turn, parsed_arguments, WorkBudget()).denied
    ]


def test_a_denied_file_withholds_its_tree(turn: TurnContext) -> None:
    assert names(turn.workspace.directory, turn, ALL) == [".env"]
    assert names(turn.workspace.directory / "src", turn, ALL) == []


def test_hidden_files_do_not_count_where_they_are_not_read(turn: TurnContext) -> None:
    assert names(turn.workspace.directory, turn, PLAIN) == []
    (turn.workspace.directory / "src/prod.env").touch()
    assert names(turn.workspace.directory, turn, PLAIN) == ["src/prod.env"]


def test_a_link_to_a_denied_file_counts_where_links_are_followed(turn: TurnContext) -> None:
    (turn.workspace.directory / "src/link").symlink_to("../.env")
    assert names(turn.workspace.directory / "src", turn, ALL) == []
    assert names(turn.workspace.directory / "src", turn, ParsedArguments(hidden=True, follows=True)) == [".env"]


def test_a_file_that_a_rule_asks_about_differs_from_a_denied_one(turn: TurnContext) -> None:
    asking = Rule(permission="read", pattern="src/*", action=Action.ASK)
    ruled = replace(turn, rules=turn.rules.followed_by([asking]))
    found = withheld_in_tree(turn.workspace.directory, ruled, ALL, WorkBudget())
    assert (found.asked, found.denied) == (
        (turn.workspace.directory / "src/a.txt",),
        (turn.workspace.directory / ".env",),
    )


def test_a_tree_that_is_too_large_is_not_searched(turn: TurnContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_trees, "MAX_ENTRIES", 2)
    with pytest.raises(TreeTooLarge, match="more files below .* than can be looked through"):
        withheld_in_tree(turn.workspace.directory, turn, ALL, WorkBudget())


def test_searching_a_tree_uses_the_work_budget(turn: TurnContext) -> None:
    with pytest.raises(WorkBudgetExceeded):
        withheld_in_tree(turn.workspace.directory, turn, ALL, WorkBudget(1))
