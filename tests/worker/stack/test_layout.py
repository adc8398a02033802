"""The files of a stack."""

from pathlib import Path

from worker.stack.layout import Layout


def test_stacks_with_different_homes_have_different_keys() -> None:
    assert Layout(home=Path("/a")).key != Layout(home=Path("/b")).key


def test_what_is_made_is_for_the_owner_only(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "deep" / "home")

    layout.create()

    assert {path.stat().st_mode & 0o777 for path in (layout.home, layout.logs, layout.temporal)} == {0o700}
