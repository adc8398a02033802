"""Directories are listed in order, and never without bound."""

from pathlib import Path

from activities.files.listing import MAX_NAMES, Listing, list_directory, similar_names


def test_names_are_sorted_and_directories_end_in_a_slash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").touch()
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to("gone")
    assert list_directory(tmp_path) == Listing(("a", "b/", "c/", "d"), complete=True)


def test_a_crowded_directory_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(MAX_NAMES + 1):
        (tmp_path / str(number)).touch()
    found = list_directory(tmp_path)
    assert (len(found.names), found.complete) == (MAX_NAMES, False)


def test_similar_names_contain_the_name_or_are_contained_in_it(tmp_path: Path) -> None:
    for name in ("Readme.md", "readme.txt", "other"):
        (tmp_path / name).touch()
    assert similar_names(tmp_path / "README") == ["Readme.md", "readme.txt"]
    assert similar_names(tmp_path / "readme.md.bak") == ["Readme.md"]
    assert similar_names(tmp_path / "gone/readme") == []


def test_similar_names_are_those_most_like_it_if_none_contains_it(tmp_path: Path) -> None:
    for name in ("Settings.toml", "setting_file.toml", "other.toml", "a"):
        (tmp_path / name).touch()
    assert similar_names(tmp_path / "setings.toml") == ["Settings.toml", "setting_file.toml"]
    assert similar_names(tmp_path / "unknown") == []
