"""Trees are searched for files that rules withhold before a program reads them."""

from dataclasses import replace
from pathlib import Path

import pytest

from activities.files.workspace import Workspace
from activities.shell.analysis import directory_trees
from activities.shell.analysis.budget import WorkBudget, WorkBudgetExceeded
from activities.shell.analysis.directory_trees import TreeTooLarge, withheld_in_tree
from activities.shell.programs.parsed_arguments import ParsedArguments
from workflows.domain.permissions.rules import Action, Rule

PLAIN, ALL = ParsedArguments(), ParsedArguments(hidden=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.txt").touch()
    (tmp_path / ".env").touch()
    rules = (
        Rule(permission="read", pattern="*", action=Action.ALLOW),
        Rule(permission="read", pattern="*.env", action=Action.DENY),
    )
    return Workspace(tmp_path, tmp_path, data=tmp_path, home=tmp_path, temporary=tmp_path, rules=rules)


def names(tree: Path, workspace: Workspace, parsed_arguments: ParsedArguments) -> list[str]:
    return [
        str(path.relative_to(workspace.directory))
        for path in withheld_in_tree(tree, workspace, parsed_arguments, WorkBudget()).denied
    ]


def test_a_denied_file_withholds_its_tree(workspace: Workspace) -> None:
    assert names(workspace.directory, workspace, ALL) == [".env"]
    assert names(workspace.directory / "src", workspace, ALL) == []


def test_hidden_files_do_not_count_where_they_are_not_read(workspace: Workspace) -> None:
    assert names(workspace.directory, workspace, PLAIN) == []
    (workspace.directory / "src/prod.env").touch()
    assert names(workspace.directory, workspace, PLAIN) == ["src/prod.env"]


def test_a_link_to_a_denied_file_counts_where_links_are_followed(workspace: Workspace) -> None:
    (workspace.directory / "src/link").symlink_to("../.env")
    assert names(workspace.directory / "src", workspace, ALL) == []
    assert names(workspace.directory / "src", workspace, ParsedArguments(hidden=True, follows=True)) == [".env"]


def test_a_file_that_a_rule_asks_about_differs_from_a_denied_one(workspace: Workspace) -> None:
    asking = Rule(permission="read", pattern="src/*", action=Action.ASK)
    found = withheld_in_tree(
        workspace.directory, replace(workspace, rules=(*workspace.rules, asking)), ALL, WorkBudget()
    )
    assert (found.asked, found.denied) == ((workspace.directory / "src/a.txt",), (workspace.directory / ".env",))


def test_a_tree_that_is_too_large_is_not_searched(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_trees, "MAX_ENTRIES", 2)
    with pytest.raises(TreeTooLarge, match="more files below .* than can be looked through"):
        withheld_in_tree(workspace.directory, workspace, ALL, WorkBudget())


def test_searching_a_tree_uses_the_work_budget(workspace: Workspace) -> None:
    with pytest.raises(WorkBudgetExceeded):
        withheld_in_tree(workspace.directory, workspace, ALL, WorkBudget(1))
