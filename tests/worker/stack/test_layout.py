"""The files of a stack."""

from pathlib import Path

from worker.stack.layout import Layout


def test_stacks_with_different_homes_have_different_keys() -> None:
    assert Layout(home=Path("/a")).key != Layout(home=Path("/b")).key


def test_what_is_made_is_for_the_owner_only(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "deep" / "home")

    layout.create()

    assert {path.stat().st_mode & 0o777 for path in (layout.home, layout.logs, layout.temporal)} == {0o700}


def test_a_log_that_has_grown_long_is_put_aside_and_a_short_one_stays(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path)
    layout.create()
    with layout.log("long").open("wb") as file:
        file.truncate(11 * 2**20)
    layout.log("short").write_text("kept")

    layout.put_logs_aside()

    assert {path.name for path in layout.logs.iterdir()} == {"long.log.old", "short.log"}
