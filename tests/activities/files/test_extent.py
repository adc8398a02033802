"""How many files a change may reach."""

from pathlib import Path

import pytest

from activities.files.extent import MOST, extent


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "build" / "deep").mkdir(parents=True)
    for name in ("build/a.o", "build/.hidden", "build/deep/b.o", "a.txt"):
        (tmp_path / name).touch()
    return tmp_path / "build"


def test_a_directory_counts_with_all_that_is_below_it(build: Path) -> None:
    assert extent([build, build.parent / "a.txt"]) == 4


def test_a_pattern_counts_what_it_finds(build: Path) -> None:
    assert extent([build / "*"]) == 3 and extent([build / "*.none"]) == 0


def test_directories_that_a_pattern_names_are_not_looked_for(build: Path) -> None:
    assert extent([build.parent / "*" / "a.o"]) is None and extent([build / "**"]) == 3


def test_what_is_behind_a_link_is_not_reached(build: Path) -> None:
    (build.parent / "link").symlink_to(build)

    assert extent([build.parent / "link", build / "deep"]) == 2


def test_single_files_need_no_count(build: Path) -> None:
    assert extent([build / "a.o", build / "missing"]) is None


def test_what_cannot_be_looked_at_counts_nothing(build: Path) -> None:
    long = build / ("a" * 300)
    assert extent([long, build / "a.o"]) is None and extent([long / "*", build]) == 3


def test_counting_ends(build: Path) -> None:
    for number in range(MOST + 10):
        (build / str(number)).touch()

    assert extent([build]) == MOST
