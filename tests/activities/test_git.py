import subprocess
from pathlib import Path

import pytest

from activities.git import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repository"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.fixture
def hostile(repository: Path, tmp_path: Path) -> Path:
    """A repository whose configuration names a program that git would start to list changed files."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(program)], cwd=repository, check=True)
    return repository


async def test_a_command_gives_what_it_prints(repository: Path) -> None:
    assert await git(repository, "rev-parse", "--show-toplevel") == str(repository)


async def test_a_command_that_fails_gives_nothing(repository: Path) -> None:
    assert await git(repository, "rev-parse", "HEAD") is None


async def test_a_program_that_the_repository_names_is_not_started(hostile: Path, tmp_path: Path) -> None:
    await git(hostile, "status")

    assert not (tmp_path / "ran").exists()
