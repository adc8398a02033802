"""Keys handed from a run's shell to the worker."""

import stat
from pathlib import Path

import pytest

from worker import credential_handoff, release
from worker.credential_handoff import CredentialEnvironment
from worker.serve import write_worker_note
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError

SECRET = "sk-ant-very-secret"


def settings(home: Path, **variables: str) -> Settings:
    return Settings.read({"HOME": str(home), "HOLDFAST_HOME": str(home / "holdfast"), **variables})


async def test_the_worker_sees_a_key_that_a_shell_hands_over_while_it_runs(tmp_path: Path) -> None:
    worker = CredentialEnvironment(settings(tmp_path, PATH="/bin"))
    assert worker.get("ANTHROPIC_API_KEY") is None

    shell = settings(tmp_path, ANTHROPIC_API_KEY=SECRET, UNRELATED="x")
    given = await credential_handoff.hand_off(
        shell, credential_handoff.credential_variables(Config(), "anthropic/claude")
    )

    assert given == ("ANTHROPIC_API_KEY",)
    assert worker["ANTHROPIC_API_KEY"] == SECRET and worker["PATH"] == "/bin"
    assert worker.get("UNRELATED") is None


async def test_settings_of_a_provider_are_handed_over_and_are_no_secrets(tmp_path: Path) -> None:
    shell = settings(tmp_path, GOOGLE_CLOUD_PROJECT="team", AZURE_RESOURCE_NAME="us", OPENAI_API_KEY=SECRET)
    given = await credential_handoff.hand_off(shell, credential_handoff.credential_variables(Config(), "a/b"))
    worker = CredentialEnvironment(settings(tmp_path))

    assert given == ("AZURE_RESOURCE_NAME", "GOOGLE_CLOUD_PROJECT", "OPENAI_API_KEY")
    assert worker["GOOGLE_CLOUD_PROJECT"] == "team" and worker.credentials() == {"OPENAI_API_KEY": SECRET}


async def test_what_is_no_text_is_refused_by_its_name_and_noted_nowhere(tmp_path: Path) -> None:
    odd = settings(tmp_path, **{"OPENAI_API_KEY": "sk-\udcff", "ODD_\udcff": "x"})
    with pytest.raises(UsageError, match="The value of OPENAI_API_KEY is no UTF-8 text"):
        await credential_handoff.hand_off(odd, ("OPENAI_API_KEY",))

    write_worker_note(odd, release.installed_release())


async def test_a_newer_key_counts_and_another_shell_takes_none_away(tmp_path: Path) -> None:
    wanted = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    for variables in ({"ANTHROPIC_API_KEY": "old"}, {"OPENAI_API_KEY": "other"}, {"ANTHROPIC_API_KEY": "new"}):
        await credential_handoff.hand_off(settings(tmp_path, **variables), wanted)

    worker = CredentialEnvironment(settings(tmp_path, ANTHROPIC_API_KEY="of the stack's own shell"))

    assert (worker["ANTHROPIC_API_KEY"], worker["OPENAI_API_KEY"]) == ("new", "other")


@pytest.mark.parametrize(
    "given", [{"AWS_PROFILE": "work"}, {"AWS_BEARER_TOKEN_BEDROCK": "key"}, {"AWS_ACCESS_KEY_ID": "a"}]
)
async def test_a_sign_in_to_aws_replaces_another_as_a_whole(tmp_path: Path, given: dict[str, str]) -> None:
    first = {"AWS_ACCESS_KEY_ID": "old", "AWS_SECRET_ACCESS_KEY": "old", "AWS_SESSION_TOKEN": "old", "OTHER": "kept"}
    await credential_handoff.hand_off(settings(tmp_path, **first), first)
    await credential_handoff.hand_off(settings(tmp_path, **given), given)

    worker = CredentialEnvironment(settings(tmp_path, AWS_SESSION_TOKEN="of the stack's own shell", PATH="/bin"))

    assert {name: worker[name] for name in worker if name.startswith("AWS_")} == given
    assert worker["OTHER"] == "kept" and worker["PATH"] == "/bin"


async def test_only_the_owner_can_read_the_file_and_it_is_forgotten(tmp_path: Path) -> None:
    shell = settings(tmp_path, OPENAI_API_KEY=SECRET)
    await credential_handoff.hand_off(shell, ("OPENAI_API_KEY",))
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (shell.credentials_file, shell.credentials_file.parent)]

    credential_handoff.remove_credentials(shell)

    assert modes == [0o600, 0o700]
    assert credential_handoff.handed_off_names(shell) == () and not shell.credentials_file.exists()


def test_the_users_own_provider_settings_may_name_any_variable() -> None:
    options = {"apiKey": "{env:CORP_KEY}", "baseURL": "https://{env:CORP_HOST}/v1"}
    config = Config.model_validate({"provider": {"corp": {"options": options}}})

    assert {"CORP_KEY", "CORP_HOST", "OPENAI_API_KEY"} <= credential_handoff.credential_variables(config, None)


def test_the_key_of_a_search_is_handed_over_where_it_is_chosen() -> None:
    chosen = Config.model_validate({"holdfast": {"web": {"search": "exa"}}})
    wanted = ["EXA_API_KEY" in credential_handoff.credential_variables(each, None) for each in (chosen, Config())]
    assert wanted == [True, False]


def test_an_unknown_providers_variable_is_made_from_its_name() -> None:
    assert "NEW_CORP_API_KEY" in credential_handoff.credential_variables(Config(model="new-corp/model"), None)


async def test_a_damaged_file_is_told_without_its_content(tmp_path: Path) -> None:
    shell = settings(tmp_path, OPENAI_API_KEY=SECRET)
    await credential_handoff.hand_off(shell, ("OPENAI_API_KEY",))
    shell.credentials_file.write_text(f'["{SECRET}"]')

    with pytest.raises(UsageError, match="damaged") as caught:
        CredentialEnvironment(shell)["OPENAI_API_KEY"]

    assert SECRET not in str(caught.value) and caught.value.__suppress_context__


async def test_values_are_not_in_what_is_printed(tmp_path: Path) -> None:
    shell = settings(tmp_path, OPENAI_API_KEY=SECRET)
    await credential_handoff.hand_off(shell, ("OPENAI_API_KEY",))

    assert SECRET not in repr(CredentialEnvironment(shell)) + repr(shell)


def test_a_variable_that_a_model_is_named_by_is_handed_over() -> None:
    config = Config.model_validate({"model": "{env:MODEL}", "agent": {"build": {"model": "a/{env:OTHER}"}}})

    assert {"MODEL", "OTHER"} <= credential_handoff.credential_variables(config, None)


def test_a_name_in_what_a_project_may_write_hands_nothing_over() -> None:
    models = {"m": {"id": "{env:STOLEN}", "name": "{env:STOLEN}"}}
    config = Config.model_validate({"provider": {"x": {"models": models}}})

    assert "STOLEN" not in credential_handoff.credential_variables(config, "x/m")


REFERRING = Config.model_validate(
    {
        "model": "{env:MODEL}",
        "provider": {"x": {"options": {"apiKey": "{env:KEY}", "headers": {"A": "Bearer {file:/nowhere/token}"}}}},
    }
)
IN_OPTIONS = Config.model_validate(
    {"provider": {"x": {"models": {"m": {"options": {"body": {"users": ["{env:USER_ID}", "{file:/nowhere/x}"]}}}}}}}
)


def test_what_options_of_models_refer_to_is_handed_over_or_lacking(tmp_path: Path) -> None:
    assert "USER_ID" in credential_handoff.credential_variables(IN_OPTIONS, "x/m")
    assert credential_handoff.missing_references(settings(tmp_path), IN_OPTIONS) == (
        "{env:USER_ID}",
        "{file:/nowhere/x}",
    )


async def test_what_neither_the_worker_nor_this_shell_has_is_lacking(tmp_path: Path) -> None:
    assert credential_handoff.missing_references(settings(tmp_path), REFERRING) == (
        "{env:KEY}",
        "{env:MODEL}",
        "{file:/nowhere/token}",
    )
    assert credential_handoff.missing_references(settings(tmp_path, KEY="k", MODEL=""), REFERRING)[0] == "{env:MODEL}"

    await credential_handoff.hand_off(settings(tmp_path, KEY="k"), ["KEY"])

    assert credential_handoff.missing_references(settings(tmp_path), REFERRING) == (
        "{env:MODEL}",
        "{file:/nowhere/token}",
    )


def test_what_the_worker_was_started_with_is_not_lacking(tmp_path: Path) -> None:
    write_worker_note(settings(tmp_path, KEY="k", MODEL="a/b"), release.installed_release())

    assert credential_handoff.missing_references(settings(tmp_path), REFERRING) == ("{file:/nowhere/token}",)


def test_what_a_worker_elsewhere_lacks_is_not_known(tmp_path: Path) -> None:
    assert credential_handoff.missing_references(settings(tmp_path, HOLDFAST_WORKER="false"), REFERRING) == (
        "{file:/nowhere/token}",
    )
