"""The deployment files, as far as they can be tested without containers."""

import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from worker.settings import Settings
from worker.stack.temporal import DYNAMIC

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "docs" / "deploy"
SCHEMA = ROOT / "tests" / "data" / "compose-spec" / "compose-spec.json"
SECRET = re.compile(r"PASSWORD|PWD|SECRET|TOKEN|_KEY$|POSTGRES_URL$")


@cache
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return document


def services() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from compose()["services"].items()


@cache
def dockerfile() -> str:
    """The Dockerfile without comments, each instruction on one line."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    return re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", dockerfile(), re.MULTILINE)


def given_by_env() -> list[str]:
    return re.findall(r"^(\w+)=", (DEPLOY / "example.env").read_text("utf-8"), re.MULTILINE)


def schema() -> Draft7Validator:
    return Draft7Validator(json.loads(SCHEMA.read_text("utf-8")))


def test_the_compose_file_is_one_by_the_schema_of_its_specification() -> None:
    wrong = [f"{error.json_path}: {error.message}" for error in schema().iter_errors(compose())]

    assert wrong == []


def test_the_schema_notices_a_misspelt_field() -> None:
    assert not schema().is_valid({**compose(), "services": {"worker": {"image": "x", "depends-on": []}}})


def test_what_the_page_adds_to_the_compose_file_is_by_the_same_schema_and_of_its_services() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    added = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]

    assert added and all(schema().is_valid(each) for each in added)
    assert {name for each in added for name in each["services"]} <= compose()["services"].keys()


def test_the_compose_file_refers_to_what_is_there() -> None:
    used = {volume.partition(":")[0] for _, each in services() for volume in each.get("volumes", []) if ":" in volume}
    files = {name for name in used if name.startswith("./")}

    assert {str(ROOT / name) for name in files if not (ROOT / name).is_file()} == set()
    assert used - files <= compose()["volumes"].keys()
    for name, each in services():
        assert set(each.get("depends_on", {})) <= compose()["services"].keys(), name
        assert set(each.get("networks", [])) <= compose()["networks"].keys(), name
        assert set(each.get("secrets", [])) <= compose()["secrets"].keys(), name


def test_who_is_waited_for_can_be_waited_for() -> None:
    for name, each in services():
        for other, waits in each.get("depends_on", {}).items():
            if waits["condition"] == "service_healthy":
                assert "test" in compose()["services"][other]["healthcheck"], f"{name} waits for {other}"
            else:
                assert "restart" in compose()["services"][other], f"{name} waits for the end of {other}"


def test_whoever_serves_says_whether_it_is_well_and_is_started_again() -> None:
    """The worker by its image, the others by the compose file."""
    for name, each in services():
        if each.get("restart") == "unless-stopped":
            assert "healthcheck" in each or each["image"] == "holdfast", name
    assert instructions("HEALTHCHECK")


def test_what_a_container_says_does_not_fill_the_disk() -> None:
    assert {name for name, each in services() if each.get("logging") != {"driver": "local"}} == set()


def test_images_are_pinned_and_nothing_is_published_beyond_loopback() -> None:
    foreign = {each["image"] for _, each in services() if "build" not in each} | {
        base.partition(" ")[0] for base in instructions("FROM")
    }
    ports = [port for _, each in services() for port in each.get("ports", [])]

    assert all(re.fullmatch(r"[\w./-]+:[\w.-]*\d[\w.-]*", image) and "auto-setup" not in image for image in foreign)
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_password_stands_in_an_environment() -> None:
    """What looks like a secret is the path of a file below /run/secrets, and the service has that secret."""
    for name, each in services():
        for variable, value in each.get("environment", {}).items():
            if variable.endswith("_FILE") and SECRET.search(variable.removesuffix("_FILE")):
                assert value.removeprefix("/run/secrets/") in each["secrets"], f"{name}: {variable}"
            else:
                assert not SECRET.search(variable), f"{name} has {variable} in its environment"
    assert [name for name in given_by_env() if SECRET.search(name)] == ["SECRETS"]


def test_postgresql_keeps_what_it_has_acknowledged() -> None:
    said = compose()["services"]["postgres"]["command"]

    assert [f"-c {name}=on" in said for name in ("fsync", "synchronous_commit", "full_page_writes")] == [True] * 3


def test_the_example_environment_has_all_that_the_compose_file_reads() -> None:
    read = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text("utf-8")))

    assert read == set(given_by_env())


def test_a_worker_is_given_longer_to_stop_than_it_takes() -> None:
    grace = float(compose()["services"]["worker"]["stop_grace_period"].removesuffix("s"))

    assert grace > Settings.model_fields["drain_seconds"].default


def test_both_temporal_servers_get_the_same_settings() -> None:
    document = yaml.safe_load((DEPLOY / "dynamic-config.yaml").read_text("utf-8"))
    embedded = {name: yaml.safe_load(value) for name, _, value in (setting.partition("=") for setting in DYNAMIC)}

    assert {name: [{"value": value}] for name, value in embedded.items()} == document


def test_secrets_are_made_once_and_readable_only_through_their_directory(tmp_path: Path) -> None:
    directory = tmp_path / "secrets"

    def make() -> dict[str, str]:
        subprocess.run(["sh", DEPLOY / "make-secrets.sh", directory], check=True)
        return {file.name: file.read_text("utf-8") for file in directory.iterdir()}

    first, second = make(), make()

    assert first.keys() == compose()["secrets"].keys() and first == second
    assert len(set(first.values())) == len(first) and first["db_holdfast"] in first["holdfast_url"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_program_gets_its_password_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3 'cret")
    program = ["sh", str(DEPLOY / "with-passwords.sh"), "printenv", "SQL_PASSWORD"]

    said = subprocess.run(
        program, env={**os.environ, "SQL_PASSWORD_FILE": str(tmp_path / "password")}, capture_output=True, check=True
    )

    assert said.stdout == b"s3 'cret\n"


@pytest.mark.parametrize("script", sorted(DEPLOY.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_shell_and_stop_at_the_first_failure(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)

    assert "\nset -eu\n" in script.read_text("utf-8")


def test_the_image_copies_what_is_there_and_runs_as_nobody_special() -> None:
    taken = [line.rpartition(" ")[0] for line in instructions("COPY") if not line.startswith("--from")]
    copied = " ".join(taken).split()

    assert copied and all((ROOT / name).exists() for name in copied)
    assert set(_packages()) <= set(copied)
    assert instructions("USER")[-1] not in ("root", "0")


def test_the_image_takes_packages_by_their_hashes_only() -> None:
    """pip by hashes that are named, uv by those of uv.lock."""
    for command in (part.strip() for line in instructions("RUN") for part in line.split("&&")):
        if command.startswith("pip install"):
            assert "--require-hashes" in command
        if command.startswith("uv"):
            assert command.startswith("uv sync --locked ")


def test_the_image_ends_its_worker_as_the_stack_does_and_lends_no_module_to_it() -> None:
    environment = " ".join(instructions("ENV"))

    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert "PYTHONSAFEPATH=1" in environment
    assert instructions("CMD")[-1] == '["python", "-P", "-m", "worker.serve"]'
    assert "$HOLDFAST_ALIVE_FILE" in instructions("HEALTHCHECK")[0] and "HOLDFAST_ALIVE_FILE=" in environment


def _packages() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    found = re.search(r"wheel\]\npackages = \[(.*)\]", text)
    assert found is not None
    return re.findall(r'"(\w+)"', found[1])
