"""Directories are listed in order, and never without bound."""

from pathlib import Path

from activities.files.listing import LISTED, Listing, listing, similar


def test_names_are_sorted_and_directories_end_in_a_slash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").touch()
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to("gone")
    assert listing(tmp_path) == Listing(("a", "b/", "c/", "d"), complete=True)


def test_a_crowded_directory_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(LISTED + 1):
        (tmp_path / str(number)).touch()
    found = listing(tmp_path)
    assert (len(found.names), found.complete) == (LISTED, False)


def test_similar_names_contain_the_name_or_are_contained_in_it(tmp_path: Path) -> None:
    for name in ("Readme.md", "readme.txt", "other"):
        (tmp_path / name).touch()
    assert similar(tmp_path / "README") == ["Readme.md", "readme.txt"]
    assert similar(tmp_path / "readme.md.bak") == ["Readme.md"]
    assert similar(tmp_path / "gone/readme") == []
