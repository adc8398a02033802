"""What file tools ask for, and what an "always" to it may save."""

import os
from pathlib import Path

import pytest

from activities.files.locate import locate
from activities.files.permission_requests import edit_requests, read_requests
from activities.files.workspace import Workspace


@pytest.mark.parametrize(
    ("path", "always"),
    [
        ("src/deep/a.py", ("src/deep/*",)),
        ("a.py", ("a.py",)),
        ("src", ("src/*",)),
        ("src/.env", ("src/.env",)),
        ("../outside/x", ("../outside/x",)),
        ("src/[id].py", ("src/*",)),
        ("we*rd/a.py", ()),
        (".", (".",)),
    ],
)
def test_always_reading_saves_at_most_the_directory(workspace: Workspace, path: str, always: tuple[str, ...]) -> None:
    (workspace.directory / "src").mkdir()
    own = read_requests(locate(path, workspace), workspace)[-1]
    assert (own.permission, own.patterns, own.always) == ("read", (os.path.normpath(path),), always)


@pytest.mark.parametrize(
    ("path", "always", "guarded"),
    [
        ("src/a.py", ("src/**",), False),
        ("a.py", ("a.py",), False),
        (".env", (".env",), False),
        (".git/config", (), True),
        ("sub/AGENTS.md", (), True),
        ("evil\u202etxt.exe", (), True),
        ("x\ny", (), True),
    ],
)
def test_a_protected_or_unreadable_path_is_guarded(
    workspace: Workspace, path: str, always: tuple[str, ...], guarded: bool
) -> None:
    own = edit_requests([locate(path, workspace)], workspace, {"diff": "the diff"})[-1]
    assert (own.permission, own.patterns, own.always, own.guarded) == ("edit", (path,), always, guarded)
    assert own.metadata["diff"] == "the diff"


def test_a_file_with_other_names_is_guarded_and_carries_a_caution(workspace: Workspace) -> None:
    (workspace.directory / "one").touch()
    os.link(workspace.directory / "one", workspace.directory / "two")
    own = edit_requests([locate("one", workspace)], workspace, {})[-1]
    assert own.guarded
    assert "2 names" in str(own.metadata["caution"])


def test_a_path_outside_asks_for_its_directory_first(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.directory / "link").symlink_to("../outside")
    first, own = read_requests(locate("link/x", workspace), workspace)
    assert (first.permission, first.patterns) == ("external_directory", (f"{tmp_path}/outside/*",))
    assert own.patterns == ("../outside/x",)
