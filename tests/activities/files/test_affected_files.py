"""How many files a change may reach."""

from pathlib import Path

import pytest

from activities.files.affected_files import MAX_COUNTED, count_affected_files


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "build" / "deep").mkdir(parents=True)
    for name in ("build/a.o", "build/.hidden", "build/deep/b.o", "a.txt"):
        (tmp_path / name).touch()
    return tmp_path / "build"


def test_a_directory_counts_with_all_that_is_below_it(build: Path) -> None:
    assert count_affected_files([build, build.parent / "a.txt"]) == 4


def test_a_pattern_counts_what_it_finds(build: Path) -> None:
    assert count_affected_files([build / "*"]) == 3 and count_affected_files([build / "*.none"]) == 0


def test_directories_that_a_pattern_names_are_not_looked_for(build: Path) -> None:
    assert count_affected_files([build.parent / "*" / "a.o"]) is None and count_affected_files([build / "**"]) == 3


def test_files_behind_a_link_are_not_reached(build: Path) -> None:
    (build.parent / "link").symlink_to(build)

    assert count_affected_files([build.parent / "link", build / "deep"]) == 2


def test_single_files_need_no_count(build: Path) -> None:
    assert count_affected_files([build / "a.o", build / "missing"]) is None


def test_an_unreadable_directory_counts_nothing(build: Path) -> None:
    long = build / ("a" * 300)
    assert count_affected_files([long, build / "a.o"]) is None and count_affected_files([long / "*", build]) == 3


def test_counting_ends(build: Path) -> None:
    for number in range(MAX_COUNTED + 10):
        (build / str(number)).touch()

    assert count_affected_files([build]) == MAX_COUNTED
