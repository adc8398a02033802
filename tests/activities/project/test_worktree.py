import subprocess
from pathlib import Path

import pytest

from activities.project import worktree
from tests.activities.project.world import World


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


def test_the_root_is_the_nearest_directory_with_git(world: World) -> None:
    assert world.place("a/b").worktree == world.project
    assert worktree.root(world.home) is None


def test_a_directory_reached_by_a_link_is_its_real_self(world: World) -> None:
    (world.home / "link").symlink_to(world.project)

    place = worktree.place(world.home / "link", data=world.home, home=world.home, temporary=world.home)

    assert (place.directory, place.worktree) == (world.project, world.project)


async def test_a_project_is_called_by_its_first_commit_in_every_work_tree(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository, "worktree", "add", "-q", "-b", "other", "../linked")
    linked = repository.parent / "linked"

    assert await worktree.project_id(repository, repository) == first
    assert await worktree.project_id(worktree.root(linked), linked) == first


async def test_a_directory_without_commits_is_called_by_its_path(world: World) -> None:
    here = await worktree.project_id(None, world.project)

    assert here.startswith("path-")
    assert here != await worktree.project_id(None, world.home)


def test_the_branch_is_read_in_every_work_tree(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "feature/x", "../linked")

    assert worktree.branch(repository) == "main"
    assert worktree.branch(repository.parent / "linked") == "feature/x"


def test_a_detached_head_is_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    assert worktree.branch(repository) is None
