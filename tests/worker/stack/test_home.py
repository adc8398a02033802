"""A home that cannot be written to: the reason, and the resulting error."""

import errno
from pathlib import Path

import pytest

from worker.stack.home import as_home_error, home_problem, nearest_existing


def test_a_home_that_is_there_or_can_be_made_is_no_trouble(tmp_path: Path) -> None:
    assert home_problem(tmp_path) is None and home_problem(tmp_path / "a" / "b") is None
    assert nearest_existing(tmp_path / "a" / "b") == tmp_path and list(tmp_path.iterdir()) == []


def test_a_file_or_a_link_to_nowhere_in_its_place_or_above_is_named(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to(tmp_path / "nowhere")

    assert home_problem(file) == home_problem(file / "home") == f"{str(file)!r} is no directory"
    assert home_problem(link / "home") == f"{str(link)!r} is a link to nowhere"


@pytest.mark.parametrize("place", ["/proc", "/sys"])  # root may write everywhere else
def test_a_file_system_that_takes_no_files_is_named(place: str) -> None:
    said = home_problem(Path(place, "holdfast", "home"))
    assert said is not None and repr(place) in said


def test_an_error_is_the_homes_when_it_names_what_is_in_the_way_there_and_else_a_bug(tmp_path: Path) -> None:
    home, inside = tmp_path / "home", tmp_path / "home" / "logs"
    inside.parent.mkdir()
    known = as_home_error(home, PermissionError(errno.EACCES, "Permission denied", str(inside)))

    assert known is not None and f"{str(inside)!r}: Permission denied" in str(known) and "HOLDFAST_HOME" in str(known)
    assert as_home_error(home, PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "other"))) is None
    assert as_home_error(home, FileNotFoundError(errno.ENOENT, "No such file", str(inside))) is None
    assert as_home_error(home, OSError(errno.EBADF, "Bad file descriptor")) is None
