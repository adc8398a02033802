"""Whose clock the times of a schedule are read by."""

from pathlib import Path

import pytest

from worker.cli.schedule_options import local_zone
from workflows.domain.errors import UsageError


def test_the_zone_is_that_of_the_shell_or_of_the_machine(tmp_path: Path) -> None:
    localtime = tmp_path / "localtime"
    localtime.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    other = tmp_path / "other"
    other.symlink_to("/usr/share/zoneinfo/Asia/Kolkata")

    assert local_zone({}, localtime) == "Europe/Berlin"
    assert local_zone({"TZ": "America/New_York"}, localtime) == "America/New_York"
    assert local_zone({"TZ": f":{other}"}, localtime) == "Asia/Kolkata"
    assert local_zone({}, tmp_path / "none") == "Etc/UTC"
    with pytest.raises(UsageError, match="--timezone"):
        local_zone({"TZ": "CET-1CEST"}, localtime)
