"""The files of a stack."""

import os
from pathlib import Path

from worker.machine_id import machine_id
from worker.stack.layout import Layout


def test_stacks_with_different_homes_have_different_keys() -> None:
    assert Layout(home=Path("/a")).key != Layout(home=Path("/b")).key


def test_what_is_made_is_for_the_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "deep" / "home")
    before = os.umask(0)
    try:
        layout.create()
        machine_id(layout.home)
    finally:
        os.umask(before)

    assert {path.stat().st_mode & 0o777 for path in (layout.home, layout.logs, layout.temporal)} == {0o700}
    assert [path.stat().st_mode & 0o777 for path in (layout.home.parent, layout.home / "machine")] == [0o755, 0o600]
