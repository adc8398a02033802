"""What a path means for permissions."""

from pathlib import Path
from typing import Any

import pytest

from tests import cases
from workflows.domain.permissions.paths import (
    external_request,
    is_outside,
    is_protected,
    may_hold_secrets,
    ungrantable_patterns,
)
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rulesets import Rulesets

PROJECT, HOME = Path("/ws/proj"), Path("/home/u")


@pytest.mark.parametrize("case", cases.load("external_directory"))
def test_paths_outside_the_project_are_asked_about(case: cases.Case) -> None:
    request = _asked(case.input)
    cases.assert_matches({"request": request and _shown(request)}, case.expected)
    if case.holdfast is not None:
        assert request is not None
        assert Rulesets.of(()).savable_patterns(request) == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/ws/proj/src/a", False),
        ("/ws/proj", False),
        ("/ws/proj/..data/x", False),
        ("/ws/proj-secret/key", True),
        ("/ws", True),
    ],
)
def test_inside_is_judged_by_components_not_by_text(path: str, expected: bool) -> None:
    assert is_outside(Path(path), PROJECT, None) is expected


def test_a_work_tree_counts_as_inside_unless_it_is_the_root() -> None:
    assert not is_outside(Path("/ws/other"), PROJECT, Path("/ws"))
    assert is_outside(Path("/ws/other"), PROJECT, Path("/"))


@pytest.mark.parametrize("directory", ["/", "/home", "/home/u", "/ws", "/ws/proj"])
def test_what_holds_the_project_or_the_home_is_never_saved(directory: str) -> None:
    assert ungrantable_patterns([Path(directory)], directory=PROJECT, home=HOME) == (f"{directory.rstrip('/')}/*",)


def test_another_directory_may_be_saved() -> None:
    assert ungrantable_patterns([Path("/home/u/notes")], directory=PROJECT, home=HOME) == ()


@pytest.mark.parametrize(
    "path",
    [
        "/ws/proj/.git",
        "/ws/proj/sub/.git/hooks/pre-commit",
        "/ws/proj/opencode.json",
        "/ws/proj/.opencode/agents/a.md",
        "/ws/proj/.opencode/plans/AGENTS.md",
        "/ws/proj/.opencode/plans/sub/a.md",
        "/ws/proj/.opencode/plans/a.sh",
        "/ws/proj/.git/.opencode/plans/a.md",
        "/ws/.opencode/x/.opencode/plans/a.md",
        "/ws/proj/sub/AGENTS.md",
        "/ws/proj/.github/workflows/ci.yml",
        "/ws/proj/.yarnrc.yml",
        "/home/u/.bashrc",
        "/home/u/.ssh/authorized_keys",
        "/home/u/.config/holdfast/opencode.json",
        "/etc/cron.d/x",
    ],
)
def test_protected_paths(path: str) -> None:
    assert is_protected(Path(path), HOME)


@pytest.mark.parametrize("path", ["/ws/proj/.opencode/plans/a.md", "/ws/proj/sub/.opencode/plan/b.MD"])
def test_a_plan_is_no_configuration(path: str) -> None:
    assert not is_protected(Path(path), HOME)


@pytest.mark.parametrize(
    "path",
    [
        "/ws/proj/Makefile",
        "/ws/proj/package.json",
        "/ws/proj/.github/x.md",
        "/ws/proj/.config/x",
        "/ws/proj/.gitignore",
    ],
)
def test_ordinary_paths(path: str) -> None:
    assert not is_protected(Path(path), HOME)


@pytest.mark.parametrize(
    ("name", "expected"),
    [(".env", True), ("prod.env", True), (".ENV.local", True), (".env.example", False), (".envrc", False)],
)
def test_files_with_secrets_are_known_by_name(name: str, expected: bool) -> None:
    assert may_hold_secrets(Path("/ws/proj") / name) is expected


def _asked(given: dict[str, Any]) -> PermissionRequest | None:
    if "target" not in given or given.get("bypass"):
        return None
    return external_request(
        Path(given["target"]),
        is_directory=given.get("kind") == "directory",
        directory=Path(given["directory"]),
        worktree=Path(given["worktree"]),
        home=HOME,
    )


def _shown(request: PermissionRequest) -> dict[str, Any]:
    dumped = request.model_dump(mode="json")
    return {key: dumped[key] for key in ("permission", "patterns", "always", "metadata")}
