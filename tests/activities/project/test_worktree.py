import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from activities.project import worktree
from activities.shell.analysis.repository import unsafe_setting
from tests.activities.project.project_home import ProjectHome
from tests.polling import WAIT_TIMEOUT


def git(directory: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repository"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_the_root_is_the_nearest_directory_with_git(project_home: ProjectHome) -> None:
    assert project_home.workspace("a/b").worktree == project_home.project
    assert worktree.find_root(project_home.home) is None


def test_a_directory_reached_by_a_link_is_its_real_self(project_home: ProjectHome) -> None:
    (project_home.home / "link").symlink_to(project_home.project)

    place = worktree.find_workspace(
        project_home.home / "link", data=project_home.home, home=project_home.home, temporary=project_home.home
    )

    assert (place.directory, place.worktree) == (project_home.project, project_home.project)


async def test_a_project_is_called_by_its_first_commit_in_every_work_tree(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository, "worktree", "add", "-q", "-b", "other", "../linked")
    linked = repository.parent / "linked"

    assert await worktree.project_id(repository, repository) == first
    assert await worktree.project_id(worktree.find_root(linked), linked) == first


async def test_a_directory_without_commits_is_called_by_its_path(project_home: ProjectHome) -> None:
    here = await worktree.project_id(None, project_home.project)

    assert here.startswith("path-")
    assert here != await worktree.project_id(None, project_home.home)


def test_the_branch_is_read_in_every_work_tree(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "feature/x", "../linked")

    assert worktree.current_branch(repository) == "main"
    assert worktree.current_branch(repository.parent / "linked") == "feature/x"


def test_a_detached_head_is_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    assert worktree.current_branch(repository) is None


@pytest.mark.parametrize("pipe", [".git", ".git/HEAD"])
async def test_a_pipe_in_the_place_of_gits_files_holds_nothing_up(tmp_path: Path, pipe: str) -> None:
    (tmp_path / pipe).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / pipe)

    found = await asyncio.wait_for(worktree.find_identity(str(tmp_path)), WAIT_TIMEOUT)

    assert found is not None and found.branch == "(no branch)"
    assert (unsafe_setting(tmp_path) is None) == (pipe == ".git/HEAD")
