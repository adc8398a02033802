"""Starting at login: systemd's unit."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack import systemd_unit

AWKWARD = 'a "b" 100% $HOME \\ c'


def settings(tmp_path: Path, **more: str) -> Settings:
    return Settings.read({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **more})


def test_a_unit_holds_our_variables_quoted_and_no_secret(tmp_path: Path) -> None:
    url, key = "postgresql://me:secret@db/work", "sk-secret"
    given = {"HOLDFAST_TASK_QUEUE": AWKWARD, "HOLDFAST_POSTGRES_URL": url, "HOLDFAST_API_KEY": key, "OTHER": "no"}

    unit = systemd_unit.unit_text(settings(tmp_path, **given))

    assert 'Environment="HOLDFAST_TASK_QUEUE=a \\"b\\" 100%% $HOME \\\\ c"\n' in unit
    assert "secret" not in unit and "OTHER" not in unit
    assert 'holdfast" up\n' in unit and 'holdfast" down\n' in unit


def test_a_unit_reaches_providers_as_the_shell_does_and_holds_no_proxys_login(tmp_path: Path) -> None:
    said: list[str] = []
    network = {"https_proxy": "http://proxy:3128", "NO_PROXY": "localhost", "NODE_EXTRA_CA_CERTS": "/etc/our.pem"}
    own = settings(tmp_path, PATH="", **network, HTTPS_PROXY="http://ada:pass@proxy:1", ALL_PROXY="token@proxy:1")

    asyncio.run(systemd_unit.enable(own, said.append))

    unit = systemd_unit.unit_path(own).read_text()
    assert all(f'Environment="{name}={value}"\n' in unit for name, value in network.items())
    assert "pass" not in unit and "token" not in unit
    for name in ("HTTPS_PROXY", "ALL_PROXY"):
        assert f"{name} is left out: it may hold a password; `systemctl --user edit holdfast.service` takes it." in said


def test_a_unit_names_the_temporal_of_the_shell_and_every_secret_that_it_leaves_out_is_reported(tmp_path: Path) -> None:
    said: list[str] = []
    secret = {"TEMPORAL_API_KEY": "an-api-key", "HOLDFAST_POSTGRES_URL": "postgresql://db/work"}
    plain = {"TEMPORAL_ADDRESS": "temporal:7233", "TEMPORAL_TLS_CLIENT_KEY_PATH": "/etc/our.key"}
    own = settings(tmp_path, PATH="", **plain, **secret)

    asyncio.run(systemd_unit.enable(own, said.append))

    unit = systemd_unit.unit_path(own).read_text()
    assert all(f'Environment="{name}={value}"\n' in unit for name, value in plain.items())
    assert not any(name in unit for name in secret)
    assert all(any(line.startswith(f"{name} is left out: ") for line in said) for name in secret)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_unit_as_it_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.service"
    file.write_text(systemd_unit.unit_text(settings(tmp_path, HOLDFAST_TASK_QUEUE=AWKWARD)))

    ended = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file)],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
    )

    assert (ended.returncode, str(file.name) in ended.stderr) == (0, False), ended.stderr


def test_where_systemd_is_not_at_hand_the_unit_is_written_and_the_way_said(tmp_path: Path) -> None:
    said: list[str] = []
    own = settings(tmp_path, PATH="")

    asyncio.run(systemd_unit.enable(own, said.append))
    written = systemd_unit.unit_path(own).exists()
    asyncio.run(systemd_unit.disable(own, said.append))

    assert written and not systemd_unit.unit_path(own).exists()
    assert any("systemctl --user enable holdfast.service" in line for line in said)
    program = Path(sys.executable).with_name("holdfast")
    assert any(line.endswith(f"@reboot {program} up") for line in said)


def test_each_home_has_a_unit_of_its_own(tmp_path: Path) -> None:
    other = settings(tmp_path, HOLDFAST_HOME=str(tmp_path / "other"))

    assert systemd_unit.unit_path(settings(tmp_path)).name == "holdfast.service"
    assert systemd_unit.unit_path(other).name.startswith("holdfast-")
