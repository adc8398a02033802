"""Paths are judged by their real targets."""

import os
from pathlib import Path

import pytest

from activities.files.locate import LocatedPath, PathKind, locate
from activities.files.workspace import Workspace
from workflows.domain.errors import ToolError


def test_a_relative_path_starts_in_the_directory_of_the_session(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").touch()
    assert locate("a.txt", workspace) == locate(str(workspace.directory / "a.txt"), workspace)
    assert locate("a.txt", workspace) == LocatedPath(workspace.directory / "a.txt", PathKind.FILE)


def test_a_link_is_followed_to_its_end(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside/secret").touch()
    (workspace.directory / "link").symlink_to("../outside")
    assert locate("link/secret", workspace).path == tmp_path / "outside/secret"


def test_dots_after_a_link_start_from_where_the_link_leads(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir()
    (workspace.directory / "link").symlink_to("../outside/deep")
    assert locate("link/../new", workspace) == LocatedPath(tmp_path / "outside/new", PathKind.MISSING)


def test_a_missing_path_is_judged_by_its_resolved_parent(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.directory / "link").symlink_to("../outside")
    assert locate("link/a/b/new.txt", workspace) == LocatedPath(tmp_path / "outside/a/b/new.txt", PathKind.MISSING)


def test_a_very_deep_path_that_does_not_exist_is_found_missing(workspace: Workspace) -> None:
    assert locate("a/" * 1500 + "x", workspace).kind is PathKind.MISSING


def test_other_names_of_a_file_are_counted(workspace: Workspace) -> None:
    (workspace.directory / "one").touch()
    os.link(workspace.directory / "one", workspace.directory / "two")
    assert locate("one", workspace).hard_links == 2


def test_a_pipe_is_special(workspace: Workspace) -> None:
    os.mkfifo(workspace.directory / "pipe")
    assert locate("pipe", workspace).kind is PathKind.SPECIAL


def test_variables_and_home_are_names_like_others(workspace: Workspace) -> None:
    assert locate("~/$HOME", workspace) == LocatedPath(workspace.directory / "~" / "$HOME", PathKind.MISSING)


@pytest.mark.parametrize(
    "written", ["loop", "dangling", "dangling/x", "file/x", "file/../file", "file/", "gone/../file"]
)
def test_a_path_that_leads_nowhere_is_an_error(workspace: Workspace, written: str) -> None:
    (workspace.directory / "file").touch()
    (workspace.directory / "loop").symlink_to("loop")
    (workspace.directory / "dangling").symlink_to("../outside/created")
    with pytest.raises(ToolError, match=written.split("/")[0]):
        locate(written, workspace)


@pytest.mark.parametrize("written", ["", "a\0b", "bad\ud800name", "x" * 300, "a/" * 3000])
def test_an_impossible_name_is_an_error(workspace: Workspace, written: str) -> None:
    with pytest.raises(ToolError):
        locate(written, workspace)


def test_proc_is_refused_but_what_it_points_at_is_judged(workspace: Workspace, tmp_path: Path) -> None:
    assert locate(f"/proc/self/root{tmp_path}/outside", workspace).path == tmp_path / "outside"
    with pytest.raises(ToolError, match="/proc"):
        locate("/proc/self/environ", workspace)
