"""What file tools ask for, and what an "always" to it may save."""

import os
from pathlib import Path

import pytest

from activities.files.locate import locate
from activities.files.place import Place
from activities.files.requests import changing, reading


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
def test_always_reading_saves_at_most_the_directory(place: Place, path: str, always: tuple[str, ...]) -> None:
    (place.directory / "src").mkdir()
    own = reading(locate(path, place), place)[-1]
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
    place: Place, path: str, always: tuple[str, ...], guarded: bool
) -> None:
    own = changing(locate(path, place), place, "the diff")[-1]
    assert (own.permission, own.patterns, own.always, own.guarded) == ("edit", (path,), always, guarded)
    assert own.metadata["diff"] == "the diff"


def test_a_file_with_other_names_is_guarded_and_says_so(place: Place) -> None:
    (place.directory / "one").touch()
    os.link(place.directory / "one", place.directory / "two")
    own = changing(locate("one", place), place, "")[-1]
    assert own.guarded
    assert "2 names" in str(own.metadata["caution"])


def test_a_path_outside_asks_for_its_directory_first(place: Place, tmp_path: Path) -> None:
    (place.directory / "link").symlink_to("../outside")
    first, own = reading(locate("link/x", place), place)
    assert (first.permission, first.patterns) == ("external_directory", (f"{tmp_path}/outside/*",))
    assert own.patterns == ("../outside/x",)
