"""The doctor names what is wrong, and what to do."""

from pathlib import Path

import psycopg

from tests.conftest import settings_of
from worker.settings import Settings
from worker.stack.diagnosis import CheckResult, Level
from worker.stack.doctor import run_checks
from worker.stack.state_file import Endpoints


async def test_a_stack_without_worker_is_found_out(settings: Settings, stack: Endpoints) -> None:
    found = await _by_name(settings)

    assert found["stack"].level is Level.OK
    assert found["worker"].level is Level.FAILURE
    assert "holdfast up" in found["worker"].remedy


async def test_a_database_without_migrations_is_found_out(settings: Settings, stack: Endpoints) -> None:
    found = await _by_name(settings)

    assert found["migrations"].level is Level.FAILURE
    assert found["migrations"].message.startswith("the database is at migration 0")


async def test_a_migrated_database_is_well(settings: Settings, stack: Endpoints, postgres_url: str) -> None:
    external = {"HOLDFAST_POSTGRES_URL": postgres_url, "TEMPORAL_ADDRESS": stack.temporal_address}

    found = await _by_name(Settings.read({**settings.environment, **external}))

    assert found["migrations"].level is Level.OK
    assert found["postgres"].message.startswith("an external server")


async def test_external_servers_are_asked_and_what_is_wrong_has_a_remedy(settings: Settings, tmp_path: Path) -> None:
    nowhere = {"HOLDFAST_POSTGRES_URL": "postgresql://me:secret@127.0.0.1:9/work", "TEMPORAL_ADDRESS": "127.0.0.1:9"}
    own = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_WORKER": "false", **nowhere}

    found = await _by_name(Settings.read({**settings.environment, **own}))

    assert {"postgres", "temporal", "migrations", "worker"} == {
        name for name, finding in found.items() if finding.level is Level.FAILURE
    }
    assert "HOLDFAST_POSTGRES_URL" in found["postgres"].remedy and "TEMPORAL_ADDRESS" in found["temporal"].remedy
    assert "secret" not in repr(found)


async def test_a_database_that_may_lose_something_is_a_failure_unless_it_is_wanted(
    settings: Settings, stack: Endpoints, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
    external = {"HOLDFAST_POSTGRES_URL": postgres_url, "TEMPORAL_ADDRESS": stack.temporal_address}

    refused = (await _by_name(Settings.read({**settings.environment, **external})))["postgres"]
    wanted = await _by_name(Settings.read({**settings.environment, **external, "HOLDFAST_LOSSY_DATABASE": "true"}))

    assert (refused.level, wanted["postgres"].level) == (Level.FAILURE, Level.WARNING)
    assert "synchronous_commit=off" in refused.message and "HOLDFAST_LOSSY_DATABASE" in refused.remedy


async def test_a_stack_that_never_ran_has_nothing_that_keeps_it_from_running(tmp_path: Path) -> None:
    found = await _by_name(settings_of(tmp_path / "home"))

    assert {name for name, finding in found.items() if finding.level is Level.FAILURE} == set()
    assert found["stack"].remedy == "`holdfast up` starts it."


async def test_a_home_that_others_may_write_to_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)

    found = await _by_name(settings_of(tmp_path))

    assert found["home"].level is Level.WARNING and f"chmod 700 {tmp_path}" in found["home"].remedy


async def test_programs_that_cannot_be_used_are_found_out(tmp_path: Path) -> None:
    nowhere = {"HOLDFAST_POSTGRES_BIN": "/nowhere", "HOLDFAST_TEMPORAL_BIN": "/nowhere/temporal"}

    found = await _by_name(settings_of(tmp_path / "home", **nowhere))

    assert found["postgres"].level is found["temporal"].level is Level.FAILURE
    assert "HOLDFAST_POSTGRES_BIN='/nowhere'" in found["postgres"].message


async def test_a_missing_model_key_is_a_warning_and_a_given_one_is_named_but_never_shown(tmp_path: Path) -> None:
    without = {**settings_of(tmp_path / "home").environment, "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}

    missing = (await _by_name(Settings.read(without)))["model key"]
    given = (await _by_name(Settings.read(without | {"ANTHROPIC_API_KEY": "sk-ant-1"})))["model key"]

    assert missing.level is Level.WARNING
    assert "holdfast auth login" in missing.remedy
    assert "anthropic" in given.message
    assert "sk-ant-1" not in given.message


async def _by_name(settings: Settings) -> dict[str, CheckResult]:
    return {finding.check: finding for finding in await run_checks(settings)}
