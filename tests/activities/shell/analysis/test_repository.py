"""A repository whose own configuration names programs is told from one that does not."""

from pathlib import Path

import pytest

from activities.shell.analysis.repository import names_programs, root_of
from tests.activities.shell.world import ASK, World


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ('[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.test:x\n', False),
        ("[diff]\n\texternal = ./x\n", True),
        ("[diff] external=./x\n", True),
        ('[diff "a"]\n  TextConv = ./x\n', True),
        ("[include]\n\tpath = ../x\n", True),
        ('[includeIf "gitdir:/x"]\n\tpath = ../x\n', True),
        ("[core]\n\tsshCommand = ./x\n", True),
    ],
)
def test_a_configuration_is_looked_through(tmp_path: Path, configuration: str, expected: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(configuration)
    assert names_programs(tmp_path) is expected


def test_a_linked_work_tree_has_the_configuration_of_its_repository(tmp_path: Path) -> None:
    linked = tmp_path / "repository/.git/worktrees/w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    (tmp_path / "repository/.git/config").write_text("[diff]\n\texternal = ./x\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/.git").write_text(f"gitdir: {linked}\n")
    assert names_programs(tmp_path / "w")


def test_a_bare_repository_among_the_files_of_a_project_is_another_repository(world: World) -> None:
    evil = world.place.directory / "fixtures/evil"
    for name in ("objects", "refs"):
        (evil / name).mkdir(parents=True)
    (evil / "HEAD").write_text("ref: refs/heads/master\n")
    (evil / "config").write_text('[diff "x"]\n\ttextconv = ./x\n')
    assert root_of(evil / "objects") == evil
    assert names_programs(evil)
    for command in ("cd fixtures/evil && git log -p --all", "cd fixtures/evil/objects && git show master"):
        assert world.verdict(command, world.defaults(bash={"*": "ask", "git *": "allow"})) is ASK


def test_a_repository_whose_objects_lie_elsewhere_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/master\n")
    (tmp_path / "commondir").write_text("../other\n")
    assert root_of(tmp_path) == tmp_path


def test_what_cannot_be_looked_at_may_name_programs(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("nowhere")
    assert names_programs(tmp_path)
