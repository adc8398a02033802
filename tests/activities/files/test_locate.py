"""Paths are judged by where they really lead."""

import os
from pathlib import Path

import pytest

from activities.files.locate import Kind, Located, locate
from activities.files.place import Place
from workflows.domain.errors import ToolError


def test_a_relative_path_starts_in_the_directory_of_the_session(place: Place) -> None:
    (place.directory / "a.txt").touch()
    assert locate("a.txt", place) == locate(str(place.directory / "a.txt"), place)
    assert locate("a.txt", place) == Located(place.directory / "a.txt", Kind.FILE)


def test_a_link_is_followed_to_its_end(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside/secret").touch()
    (place.directory / "link").symlink_to("../outside")
    assert locate("link/secret", place).path == tmp_path / "outside/secret"


def test_dots_after_a_link_start_from_where_the_link_leads(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir()
    (place.directory / "link").symlink_to("../outside/deep")
    assert locate("link/../new", place) == Located(tmp_path / "outside/new", Kind.MISSING)


def test_what_does_not_exist_is_judged_by_its_resolved_parent(place: Place, tmp_path: Path) -> None:
    (place.directory / "link").symlink_to("../outside")
    assert locate("link/a/b/new.txt", place) == Located(tmp_path / "outside/a/b/new.txt", Kind.MISSING)


def test_a_very_deep_path_that_does_not_exist_is_found_missing(place: Place) -> None:
    assert locate("a/" * 1500 + "x", place).kind is Kind.MISSING


def test_other_names_of_a_file_are_counted(place: Place) -> None:
    (place.directory / "one").touch()
    os.link(place.directory / "one", place.directory / "two")
    assert locate("one", place).links == 2


def test_a_pipe_is_special(place: Place) -> None:
    os.mkfifo(place.directory / "pipe")
    assert locate("pipe", place).kind is Kind.SPECIAL


def test_variables_and_home_are_names_like_others(place: Place) -> None:
    assert locate("~/$HOME", place) == Located(place.directory / "~" / "$HOME", Kind.MISSING)


@pytest.mark.parametrize(
    "written", ["loop", "dangling", "dangling/x", "file/x", "file/../file", "file/", "gone/../file"]
)
def test_a_path_that_leads_nowhere_is_an_error(place: Place, written: str) -> None:
    (place.directory / "file").touch()
    (place.directory / "loop").symlink_to("loop")
    (place.directory / "dangling").symlink_to("../outside/created")
    with pytest.raises(ToolError, match=written.split("/")[0]):
        locate(written, place)


@pytest.mark.parametrize("written", ["", "a\0b", "bad\ud800name", "x" * 300, "a/" * 3000])
def test_what_can_be_no_name_is_an_error(place: Place, written: str) -> None:
    with pytest.raises(ToolError):
        locate(written, place)


def test_proc_is_refused_but_what_it_points_at_is_judged(place: Place, tmp_path: Path) -> None:
    assert locate(f"/proc/self/root{tmp_path}/outside", place).path == tmp_path / "outside"
    with pytest.raises(ToolError, match="/proc"):
        locate("/proc/self/environ", place)
