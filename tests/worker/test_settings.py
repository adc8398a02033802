"""The environment, read once."""

import socket
from pathlib import Path

import pytest

from worker.settings import Settings
from workflows.domain.errors import UsageError

_HOME = {"HOME": "/home/ada"}


def test_directories_follow_the_xdg_rules() -> None:
    settings = Settings.read(_HOME | {"XDG_DATA_HOME": "/var/ada", "XDG_CONFIG_HOME": "relative/is/ignored"})

    assert Settings.read(_HOME).home == Path("/home/ada/.local/share/holdfast")
    assert settings.home == Path("/var/ada/holdfast")
    assert settings.config == Path("/home/ada/.config/opencode")


def test_our_own_variables_override_directories_and_numbers() -> None:
    settings = Settings.read(_HOME | {"HOLDFAST_HOME": "/srv/holdfast", "HOLDFAST_IDLE_SECONDS": "1.5"})

    assert settings.home == Path("/srv/holdfast")
    assert settings.idle_seconds == 1.5


def test_a_worker_that_is_alone_has_time_for_its_tasks() -> None:
    several = {"TEMPORAL_ADDRESS": "elsewhere:7233"}
    found = [Settings.read(_HOME | more) for more in ({}, several, several | {"HOLDFAST_STICKY_SECONDS": "2"})]

    assert [each.sticky_timeout.total_seconds() for each in found] == [5, 1, 2]


@pytest.mark.parametrize("name", ["GOOGLE_APPLICATION_CREDENTIALS", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_a_file_counts_from_the_shells_directory_in_the_worker_too(name: str) -> None:
    assert Settings.read(_HOME | {name: "a.file"}).environment[name] == str(Path.cwd() / "a.file")


def test_a_relative_home_is_made_absolute() -> None:
    assert Settings.read(_HOME | {"HOLDFAST_HOME": "here"}).home == Path.cwd() / "here"
    assert Settings.read({"HOME": "here"}).home == Path.cwd() / "here/.local/share/holdfast"


def test_an_empty_variable_counts_as_unset() -> None:
    settings = Settings.read(_HOME | {"HOLDFAST_TASK_QUEUE": "", "TEMPORAL_ADDRESS": ""})

    assert settings.task_queue == "holdfast"
    assert settings.external_temporal is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("HOLDFAST_IDLE_SECONDS", "soon"), ("HOLDFAST_HISTORY_EVENTS", "-1"), ("HOLDFAST_WORKER", "maybe")],
)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name}='{value}'"):
        Settings.read(_HOME | {name: value})


@pytest.mark.parametrize(
    ("variables", "external"),
    [
        ({"TEMPORAL_ADDRESS": "temporal.example:7233"}, "temporal.example:7233"),
        ({"TEMPORAL_PROFILE": "cloud"}, "profile cloud"),
        ({"TEMPORAL_NAMESPACE": "alone"}, None),
    ],
)
def test_an_address_or_a_profile_makes_temporal_external(variables: dict[str, str], external: str | None) -> None:
    assert Settings.read(_HOME | variables).external_temporal == external


@pytest.mark.parametrize(
    ("variables", "host"),
    [
        ({}, None),
        ({"TEMPORAL_ADDRESS": "temporal.example:7233"}, socket.gethostname()),
        ({"HOLDFAST_HOST": "files-1", "TEMPORAL_ADDRESS": "temporal.example:7233"}, "files-1"),
        ({"HOLDFAST_HOST": "*", "TEMPORAL_ADDRESS": "temporal.example:7233"}, None),
    ],
    ids=["own Temporal", "external Temporal", "named", "all files shared"],
)
def test_where_the_files_are_is_named_as_soon_as_other_machines_may_ask_for_work(
    variables: dict[str, str], host: str | None
) -> None:
    assert Settings.read(_HOME | variables).host == host


def test_a_host_that_cannot_be_the_name_of_a_queue_is_refused() -> None:
    with pytest.raises(UsageError, match="HOLDFAST_HOST='a@b'"):
        Settings.read(_HOME | {"HOLDFAST_HOST": "a@b"})


def test_the_environment_is_kept_and_never_printed() -> None:
    settings = Settings.read(_HOME | {"ANTHROPIC_API_KEY": "sk-secret", "HOLDFAST_POSTGRES_URL": "postgresql://u:pw@h"})

    assert settings.environment["ANTHROPIC_API_KEY"] == "sk-secret"
    assert "sk-secret" not in repr(settings)
    assert "pw" not in repr(settings)


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    for name, content in (("url", "postgresql://me:s%40cret@db/work\n"), ("key", "sk-1\n")):
        (tmp_path / name).write_text(content)
    named = {"HOLDFAST_POSTGRES_URL_FILE": str(tmp_path / "url"), "ANTHROPIC_API_KEY_FILE": str(tmp_path / "key")}
    named["HOLDFAST_POSTGRES_POOLER_URL_FILE"] = named["HOLDFAST_POSTGRES_URL_FILE"]

    settings = Settings.read(_HOME | named)

    assert settings.postgres_url == settings.postgres_pooler_url == "postgresql://me:s%40cret@db/work"
    assert settings.environment["ANTHROPIC_API_KEY"] == "sk-1"
    assert {"sk-1", "s@cret"} <= set(settings.secrets())


def test_the_passwords_of_proxies_are_secrets() -> None:
    proxies = {"HTTPS_PROXY": "http://ada:p%40ss-1@proxy:1", "all_proxy": "ada:pass-2@proxy", "NO_PROXY": "localhost"}

    assert {*Settings.read(_HOME | proxies).secrets()} == {"p@ss-1", "pass-2"}


def test_what_is_set_itself_counts_more_than_its_file(tmp_path: Path) -> None:
    named = {"OPENAI_API_KEY": "own", "OPENAI_API_KEY_FILE": str(tmp_path / "missing")}

    assert Settings.read(_HOME | named).environment["OPENAI_API_KEY"] == "own"


def test_a_file_of_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="HOLDFAST_POSTGRES_URL_FILE=.*missing"):
        Settings.read(_HOME | {"HOLDFAST_POSTGRES_URL_FILE": str(tmp_path / "missing")})
