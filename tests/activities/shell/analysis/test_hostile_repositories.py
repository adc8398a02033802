"""An allowed git command runs no program of a repository: real repositories, real git, and a witness."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from activities.files.workspace import Workspace
from activities.shell.environment import tool_environment
from activities.shell.shell_requests import shell_requests
from activities.turn_context import TurnContext
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.rules import Action, from_config
from workflows.domain.permissions.rulesets import Rulesets

HOOKS: Final = "post-index-change reference-transaction pre-auto-gc post-checkout pre-commit fsmonitor-watchman"
KEYS: Final = """core.fsmonitor core.editor core.pager pager.log core.sshCommand core.askPass credential.helper
    diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.process gpg.program gpg.ssh.program
    trailer.x.cmd core.alternateRefsCommand uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.vcs"""
COMMANDS: Final = (
    *("git status", "git status --short", "git diff", "git diff --cached", "git diff --submodule=diff", "git log -p"),
    *(
        "git log --format=%G?",
        "git log --show-signature",
        "git log --format='%(trailers)'",
        "git show",
        "git blame a.txt",
    ),
    *("git cat-file -p HEAD:a.txt", "git cat-file --textconv HEAD:a.txt", "git describe --dirty", "git ls-files -m"),
    *("git for-each-ref --format='%(trailers)'", "git shortlog -n", "git reflog", "git remote -v", "git grep one"),
    *("git -C sub status", "cd sub && git diff", "git diff | cat", "git status; touch zz", "git diff; touch zz"),
)
ALLOWED: Final = {"*": Action.ASK, "git *": Action.ALLOW, "cat *": Action.ALLOW, "touch *": Action.ALLOW}


class Repository:
    """A repository with a modified file, a nested repository, and attributes that name every driver; `witness` is a
    program that leaves a trace."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project, self.ran, self.witness = root / "project", root / "ran", root / "witness"
        self.witness.write_text(f"#!/bin/sh\necho $0 >> {self.ran}\ncat\n")
        self.witness.chmod(0o755)
        self.project.mkdir()
        self.commit(self.project, "a.txt", "one\n")
        (self.project / "sub").mkdir()
        self.commit(self.project / "sub", "s.txt", "s\n")
        self.git("add", "sub")
        self.git("commit", "-qm", "sub")
        self.git("remote", "add", "origin", str(self.project))
        self.touched()

    def git(self, *arguments: str, at: str = ".") -> None:
        who = ["-c", "user.name=ada", "-c", "user.email=ada@example.test", "-c", "advice.addEmbeddedRepo=false"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.root)}
        subprocess.run(["git", *who, *arguments], cwd=self.project / at, check=True, env=environment)

    def commit(self, at: Path, name: str, text: str) -> None:
        (at / name).write_text(text)
        self.git("init", "-q", at=str(at))
        (at / ".git/info/attributes").write_text("* diff=x filter=x merge=x\n")
        self.git("add", name, at=str(at))
        self.git("commit", "-qm", "one\n\nX: y", at=str(at))

    def touched(self) -> None:
        """Files that git must read to know whether they have changed."""
        for name, text in (("a.txt", "two\n"), ("sub/s.txt", "t\n")):
            (self.project / name).write_text(text)
            os.utime(self.project / name, (1, 1))

    def hooks(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for name in HOOKS.split():
            shutil.copy(self.witness, directory / name)

    def run(self, command: str) -> None:
        """Run a command as the tool does, if it raises no ask."""
        rules = from_config({"bash": ALLOWED, "edit": Action.ALLOW}, str(self.root))
        workspace = Workspace(self.project, self.project, self.root / "data", self.root, self.root / "tmp")
        needed = shell_requests(command, self.project, TurnContext(workspace, Rulesets.of(rules)))
        if any(evaluate_request(request, rules).action is not Action.ALLOW for request in needed.requests):
            return
        environment = {**tool_environment({"PATH": os.environ["PATH"]}, workspace, "prt_1"), **needed.environment}
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", command],
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )


def config(repository: Repository, at: str, *settings: tuple[str, str]) -> None:
    for name, value in settings:
        repository.git("config", name, value, at=at)


def partial(repository: Repository) -> None:
    """An object is missing, and the remote that has it is a program."""
    remote = ("remote.origin.url", f"ext::{repository.witness}")
    config(repository, ".", remote, ("remote.origin.promisor", "true"), ("protocol.ext.allow", "always"))
    config(repository, ".", ("extensions.partialClone", "origin"))
    for found in (repository.project / ".git/objects").glob("[0-9a-f][0-9a-f]/*"):
        kind = subprocess.run(
            ["git", "cat-file", "-t", found.parent.name + found.name], cwd=repository.project, capture_output=True
        )
        if kind.stdout == b"blob\n":
            found.unlink()


def set_in(at: str, key: str) -> Callable[[Repository], None]:
    return lambda repository: config(repository, at, (key, str(repository.witness)))


def line(text: str) -> Callable[[Repository], None]:
    def write(repository: Repository) -> None:
        with (repository.project / ".git/config").open("a", newline="") as file:
            file.write(text.format(repository.witness))

    return write


def hooks_path(at: str) -> Callable[[Repository], None]:
    def write(repository: Repository) -> None:
        repository.hooks(repository.project / "hooks")
        config(repository, at, ("core.hooksPath", str(repository.project / "hooks")))

    return write


TRAPS: Final[dict[str, Callable[[Repository], None]]] = {
    **{f"{at}: {key}": set_in(at, key) for key in KEYS.split() for at in (".", "sub")},
    "hooks": lambda repository: repository.hooks(repository.project / ".git/hooks"),
    "hooks inside": lambda repository: repository.hooks(repository.project / "sub/.git/hooks"),
    "hooksPath": hooks_path("."),
    "hooksPath inside": hooks_path("sub"),
    "a lone carriage return": line('[diff "x"]\n\r\ttextconv = {}\n'),
    "a program as remote": partial,
    "another file": line("[include]\n\tpath = ../included\n"),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("hostile").resolve())


@pytest.fixture
def trap(repository: Repository, request: pytest.FixtureRequest) -> Iterator[Repository]:
    """The repository with a trap, which is removed afterwards."""
    kept = repository.root / "kept"
    shutil.copytree(repository.project, kept, symlinks=True)
    (repository.project / "included").write_text(f"[diff]\n\texternal = {repository.witness}\n")
    TRAPS[request.param](repository)
    yield repository
    shutil.rmtree(repository.project)
    kept.rename(repository.project)
    repository.ran.unlink(missing_ok=True)


@pytest.mark.parametrize("trap", TRAPS, indirect=True)
def test_no_program_of_a_repository_runs(trap: Repository) -> None:
    for command in COMMANDS:
        trap.touched()
        trap.run(command)
        assert not trap.ran.exists(), f"{command}: {trap.ran.read_text()}"


def test_the_traps_would_work(repository: Repository) -> None:
    repository.git("-c", f"diff.external={repository.witness}", "diff")
    assert repository.ran.exists()
    repository.ran.unlink()
