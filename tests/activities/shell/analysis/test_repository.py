"""Repositories whose configuration names programs are detected."""

import subprocess
from pathlib import Path

import pytest

from activities.shell.analysis.repository import find_repository, unsafe_setting
from tests.activities.shell.checker import ASK, CommandChecker


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
        (
            '[core]\n\thooksPath = .husky\n\tfsmonitor = true\n[user]\n\tname = ada\n[branch "x"]\n\tmerge = refs/x\n',
            False,
        ),
        ('[filter "x"]\n\tsmudge = ./x\n', True),
        ("[filter.x]\n\tCLEAN = ./x\n", True),
        ("[gpg]\n\tprogram = ./x\n", True),
        ('[merge "x"]\n\tdriver = ./x\n', True),
        ("[protocol]\n\text.allow = always\n", True),
        ('[protocol "ext"]\n\tallow = always\n', True),
        ("[trailer.x]\n\tcmd = ./x\n", True),
        ("[core]\n\tworktree = /somewhere\n", True),
        ('[diff "x"]\n\r\ttextconv=./x\n', True),
        ('[diff "x"]\n\x0btextconv=./x\n', True),
        ('[diff "x"]\n\txfuncname = a\\\n\n\ttextconv=./x\n', True),
        ("\ufeff[diff]\n\texternal=./x\n", True),
        ("[core]\r\n\tbare = false\r\n", False),
        ("nonsense\n", True),
        ('[remote "origin"]\n\tgh-resolved = base\n[gitflow "branch"]\n\tmaster = main\n', False),
        ('[hook "x"]\n\tcommand = ./x\n', True),
    ],
)
def test_a_configuration_is_searched_for_unsafe_settings(tmp_path: Path, configuration: str, expected: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(configuration)
    assert bool(unsafe_setting(tmp_path)) is expected


def test_a_linked_work_tree_has_the_configuration_of_its_repository(tmp_path: Path) -> None:
    linked = tmp_path / "repository/.git/worktrees/w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    (tmp_path / "repository/.git/config").write_text("[diff]\n\texternal = ./x\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/.git").write_text(f"gitdir: {linked}\n")
    assert unsafe_setting(tmp_path / "w")


def test_a_bare_repository_among_the_files_of_a_project_is_another_repository(checker: CommandChecker) -> None:
    evil = checker.workspace.directory / "fixtures/evil"
    for name in ("objects", "refs"):
        (evil / name).mkdir(parents=True)
    (evil / "HEAD").write_text("ref: refs/heads/master\n")
    (evil / "config").write_text('[diff "x"]\n\ttextconv = ./x\n')
    assert find_repository(evil / "objects") == evil
    assert unsafe_setting(evil)
    for command in ("cd fixtures/evil && git log -p --all", "cd fixtures/evil/objects && git show master"):
        assert checker.verdict(command, checker.defaults(bash={"*": "ask", "git *": "allow"})) is ASK


def test_a_repository_whose_objects_lie_elsewhere_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/master\n")
    (tmp_path / "commondir").write_text("../other\n")
    assert find_repository(tmp_path) == tmp_path


def test_an_unreadable_configuration_may_name_programs(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("nowhere")
    assert unsafe_setting(tmp_path)


def test_a_submodule_whose_work_tree_it_is_may_name_it(tmp_path: Path) -> None:
    modules = tmp_path / ".git/modules/sub"
    modules.mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    (modules / "config").write_text("[core]\n\tworktree = ../../../sub\n")
    assert unsafe_setting(tmp_path / "sub") is None
    (modules / "config").write_text("[core]\n\tworktree = ../../..\n")
    assert unsafe_setting(tmp_path / "sub") == "core.worktree in ../.git/modules/sub/config"


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_programs_named_by_an_inner_repository_count(tmp_path: Path, form: str) -> None:
    def git(*arguments: str, at: Path) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.test", "-c", "advice.addEmbeddedRepo=false")
        subprocess.run(["git", *who, *arguments], cwd=at, check=True)

    inside = tmp_path / "sub"
    inside.mkdir()
    for directory in (tmp_path, inside):
        git("init", "-q", f"--object-format={form}", at=directory)
    git("commit", "-q", "--allow-empty", "-m", "one", at=inside)
    git("add", "sub", at=tmp_path)
    assert unsafe_setting(tmp_path) is None
    git("config", "diff.external", "./x", at=inside)
    assert unsafe_setting(tmp_path)
