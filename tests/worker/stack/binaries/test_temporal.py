"""The Temporal program is found in order, and the locked one is what the documentation says."""

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack.binaries import temporal
from workflows.domain.errors import UsageError

_PROGRAM = "#!/bin/sh\necho 'temporal version 0.0.0-DEV (Server {server}, UI 2.42.1)'\n"
_FIND = """
import asyncio
from worker.settings import Settings
from worker.stack.binaries import temporal
asyncio.run(temporal.find(Settings.read(), None))
"""
_DOCUMENTED = Path(__file__).parents[4] / "docs" / "operation.md"


class Machine:
    """A test's machine: the programs on its PATH."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()

    def settings(self, **variables: str) -> Settings:
        return Settings.read({"HOME": "/nowhere", "PATH": f"{self.bin}:/usr/bin:/bin", **variables})

    def install(self, name: str, text: str) -> Path:
        program = self.bin / name
        program.write_text(text)
        program.chmod(0o755)
        return program

    def install_temporal(self, server: str, name: str = "temporal") -> Path:
        return self.install(name, _PROGRAM.format(server=server))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_the_setting_comes_before_the_path(machine: Machine) -> None:
    machine.install_temporal("1.29.1")
    named = machine.install_temporal("1.30.4", "named")

    found = await temporal.find(machine.settings(HOLDFAST_TEMPORAL_BIN=str(named)), None)

    assert (found.path, found.version) == (named, "1.30")


async def test_a_program_on_the_path_comes_before_the_wheel(machine: Machine) -> None:
    program = machine.install_temporal("1.29.1")

    assert (await temporal.find(machine.settings(), None)).path == program


@pytest.mark.parametrize("server", ["1.28.4", "nonsense"])
async def test_a_program_on_the_path_that_is_unusable_is_passed_over(machine: Machine, server: str) -> None:
    machine.install_temporal(server)

    assert (await temporal.find(machine.settings(), None)).path.parent == Path(sysconfig.get_path("scripts"))


async def test_the_wheel_holds_the_server_that_the_documentation_names(machine: Machine) -> None:
    found = await temporal.find(machine.settings(), None)

    assert f"`temporal-bin` {version('temporal-bin')} with server {found.version}" in _DOCUMENTED.read_text("utf-8")


async def test_data_keep_the_server_that_made_them_while_it_is_here(machine: Machine) -> None:
    program = machine.install_temporal("1.29.1")
    wheel = await temporal.find(Settings.read({"HOME": "/nowhere", "PATH": "/nowhere"}), None)

    assert await temporal.find(machine.settings(), wheel.version) == wheel
    assert (await temporal.find(machine.settings(), "1.31")).path == program


def test_without_the_wheel_the_error_names_the_ways_out(machine: Machine) -> None:
    """By the Python below the environment, whose directory of scripts has no wheel's."""
    machine.install_temporal("1.28.4")
    python, own = Path(sys.executable).resolve(), {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": str(machine.bin)}

    refused = subprocess.run([python, "-c", _FIND], env={"HOME": "/nowhere", **own}, capture_output=True, text=True)

    for word in ("1.29 or newer", "(1.28)", "temporal-bin", "PATH", "HOLDFAST_TEMPORAL_BIN", "TEMPORAL_ADDRESS"):
        assert word in refused.stderr, refused


@pytest.mark.parametrize("text", ["#!/bin/sh\necho hello\n", _PROGRAM.format(server="1.28.4"), "\x7fELF"])
async def test_a_setting_that_names_no_usable_server_is_refused(machine: Machine, text: str) -> None:
    named = machine.install("named", text)

    with pytest.raises(UsageError, match=r"HOLDFAST_TEMPORAL_BIN(.|\n)*named"):
        await temporal.find(machine.settings(HOLDFAST_TEMPORAL_BIN=str(named)), None)
