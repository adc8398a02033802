"""Reads that may never end."""

import os
from pathlib import Path

import pytest

from activities.own_thread import read_in_time
from workflows.domain.errors import ConfigError


async def test_a_file_that_is_not_read_in_time_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "key"
    os.mkfifo(pipe)

    with pytest.raises(ConfigError, match=r"'.*/key' could not be read within 0\.1 seconds"):
        await read_in_time(repr(str(pipe)), pipe.read_text, timeout=0.1)

    os.close(os.open(pipe, os.O_WRONLY))  # lets the thread go


async def test_what_a_read_returns_or_raises_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "key"
    with pytest.raises(FileNotFoundError):
        await read_in_time("The key", file.read_text)
    file.write_text("k")
    assert await read_in_time("The key", file.read_text) == "k"
