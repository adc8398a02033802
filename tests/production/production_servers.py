"""The servers of docker-compose.yml without containers: its settings, scripts and order."""

import asyncio
import os
import shlex
import shutil
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.production.temporal_programs import TemporalPrograms
from worker.settings import Settings
from worker.stack import accounts
from worker.stack.binaries import postgres
from worker.stack.binaries.postgres import PostgresBinaries
from worker.stack.binaries.temporal import TemporalBinary
from worker.stack.cluster import Cluster
from worker.stack.ports import LOOPBACK, is_free

ROOT: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = ROOT / "docs" / "deploy"
_PORTS: Final = range(21000, 31000)  # a member of a Temporal cluster is not found on a port of 32768 or more
_SERVICES: Final = ("FRONTEND", "HISTORY", "MATCHING", "WORKER")
_EXTENSION: Final = "btree_gin"
_EMPTY: Final = "empty"  # a database for what is restored
_PATIENCE: Final = 180.0  # seconds for a server to serve
_LOOK_AGAIN: Final = 0.2


@dataclass(frozen=True)
class RunningServers:
    """The servers' addresses, and the environment of their clients; `empty_url` is of a second database."""

    environment: dict[str, str]
    temporal: str
    postgres_url: str
    empty_url: str
    cluster: Cluster


@cache
def compose(service: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    found: dict[str, Any] = document["services"][service]
    return found


@asynccontextmanager
async def servers(
    settings: Settings, built: TemporalPrograms, cli: TemporalBinary, directory: Path
) -> AsyncIterator[RunningServers]:
    """Start PostgreSQL, the databases, Temporal's schema, Temporal and its namespace as the compose file does."""
    ports = iter([port for port in _PORTS if is_free(port)][:10])
    secrets = directory / "secrets"
    await run_program("sh", DEPLOY / "make-secrets.sh", secrets)
    database = next(ports)
    async with (
        _postgres(settings, directory, secrets, database) as cluster,
        _temporal(built, cli, directory, secrets, database, ports) as address,
    ):
        url = (secrets / "holdfast_url").read_text().replace("@postgres/", f"@{LOOPBACK}:{database}/")
        (directory / "url").write_text(url)
        own = {"HOLDFAST_POSTGRES_URL_FILE": str(directory / "url"), "HOLDFAST_HOST": "production"}
        environment = {**_environment("worker"), **own, "TEMPORAL_ADDRESS": address}
        yield RunningServers(environment, address, url, url.removesuffix("holdfast") + _EMPTY, cluster)


@asynccontextmanager
async def _postgres(settings: Settings, directory: Path, secrets: Path, port: int) -> AsyncIterator[Cluster]:
    found, account = await _binaries(settings), accounts.current_account()
    if account.uid == 0:
        account = await accounts.ensure_system_user(settings.postgres_user, settings.environment)
    home = directory / "postgres"
    home.mkdir(mode=0o700)
    os.chown(home, account.uid, account.gid)
    identity: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []}
    own = identity if os.geteuid() == 0 else {}
    how = compose("postgres")["environment"]["POSTGRES_INITDB_ARGS"].split()
    data = str(home / "data")
    initdb = (found.program("initdb"), "-D", data, "-U", "postgres", "--auth-local=trust", "--encoding=UTF8", *how)
    await run_program(*initdb, cwd=home, quiet=True, **own)
    said = shlex.split(compose("postgres")["command"])[1:]
    where = ("-c", f"listen_addresses={LOOPBACK}", "-c", f"port={port}", "-c", f"unix_socket_directories={home}")
    log = directory / "postgres.log"
    async with program(found.program("postgres"), "-D", data, *said, *where, log=log, cwd=home, **own) as running:
        environment = {
            **os.environ,
            "PATH": f"{found.directory}:{os.environ['PATH']}",
            "PGHOST": str(home),
            "PGPORT": str(port),
            "POSTGRES_USER": "postgres",
            "SECRETS": str(secrets),
        }
        await wait_until_serving(running, log, found.program("pg_isready"), "-h", LOOPBACK, "-p", str(port))
        await run_program("sh", DEPLOY / "databases.sh", env=environment, quiet=True)
        await run_program(found.program("createdb"), "--username=postgres", "--owner=holdfast", _EMPTY, env=environment)
        yield Cluster(binaries=found, root=home, sockets=home, account=account, client=accounts.current_account())


async def _binaries(settings: Settings) -> PostgresBinaries:
    """The system's PostgreSQL: our wheel's lacks an extension for Temporal's visibility."""
    named = [settings.postgres_binaries] if settings.postgres_binaries else []
    for directory in named or sorted(Path("/usr").glob("lib/postgresql/*/bin"), reverse=True):
        found = await postgres.find(settings.model_copy(update={"postgres_binaries": directory}), None)
        shares = (directory.parent / "share", Path(f"/usr/share/postgresql/{found.major}"))
        if any((share / "extension" / f"{_EXTENSION}.control").exists() for share in shares):
            return found
    raise SystemExit(
        f"Temporal needs a PostgreSQL with the extension {_EXTENSION}: install the system's package `postgresql`, or "
        "name a directory with its programs by HOLDFAST_POSTGRES_BIN."
    )


@asynccontextmanager
async def _temporal(
    built: TemporalPrograms, cli: TemporalBinary, directory: Path, secrets: Path, database: int, ports: Any
) -> AsyncIterator[str]:
    (directory / "bin").mkdir()
    (directory / "bin" / "temporal").symlink_to(cli.path)
    path = {**os.environ, "PATH": f"{directory / 'bin'}:{built.directory}:{os.environ['PATH']}"}
    password = str(secrets / "db_temporal")
    schema = {
        **_environment("temporal-schema"),
        **{"SQL_HOST": LOOPBACK, "SQL_PORT": str(database), "SQL_PASSWORD_FILE": password},
        "SCHEMA": str(built.directory / "schema"),
    }
    with_passwords = ("sh", DEPLOY / "with-passwords.sh")
    for _ in range(2):  # doing it again changes nothing
        await run_program(*with_passwords, "sh", DEPLOY / "temporal-schema.sh", env={**path, **schema}, quiet=True)
    members = {f"{name}_{kind}_PORT": str(next(ports)) for name in _SERVICES for kind in ("GRPC", "MEMBERSHIP")}
    address = f"{LOOPBACK}:{members['FRONTEND_GRPC_PORT']}"
    server = {
        **_environment("temporal"),
        **members,
        "FRONTEND_HTTP_PORT": str(next(ports)),
        **{"POSTGRES_SEEDS": LOOPBACK, "DB_PORT": str(database), "POSTGRES_PWD_FILE": password},
        "BIND_ON_IP": LOOPBACK,
        "DYNAMIC_CONFIG_FILE_PATH": str(DEPLOY / "dynamic-config.yaml"),
    }
    log = directory / "temporal.log"
    async with program(*with_passwords, "temporal-server", "start", log=log, env={**path, **server}) as running:
        await wait_until_serving(running, log, str(cli.path), "operator", "cluster", "health", "--address", address)
        named = {**path, **_environment("temporal-namespace"), "TEMPORAL_ADDRESS": address}
        await run_program("sh", DEPLOY / "temporal-namespace.sh", env=named, quiet=True)
        yield address


def _environment(service: str) -> dict[str, str]:
    return {name: str(value) for name, value in compose(service)["environment"].items()}


@asynccontextmanager
async def image(directory: Path) -> AsyncIterator[Path]:
    """Install as the Dockerfile does, by its commands, from only the files that it copies; the `bin`."""
    source, target = directory / "source", directory / "image"
    source.mkdir()
    text = (ROOT / "Dockerfile").read_text("utf-8").split("\nFROM ")[1]
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    own = {"UV_PROJECT_ENVIRONMENT": str(target), "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON": sys.executable}
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    for line in text.splitlines():
        if line.startswith("COPY "):
            for name in line.split()[1:-1]:
                here = ROOT / name
                await asyncio.to_thread(shutil.copytree if here.is_dir() else shutil.copy, here, source / name)
        elif line.startswith("RUN uv sync "):
            command = line.removeprefix("RUN uv ").replace(" --no-cache", "").split()
            await run_program(uv, *command, "--quiet", cwd=source, env={**kept, **own})
    yield target / "bin"


@asynccontextmanager
async def program(*argv: Any, log: Path, **more: Any) -> AsyncIterator[Process]:
    """Run a program for the block; terminate it, and kill it if it does not end."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(*map(str, argv), stdout=file, stderr=file, **more)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 20)
            except TimeoutError:
                process.kill()
                await process.wait()


async def wait_until_serving(process: Process, log: Path, *probe: str) -> None:
    """Wait until the probe succeeds."""
    async with asyncio.timeout(_PATIENCE):
        while not await _well(*probe):
            if process.returncode is not None:
                raise SystemExit(f"{log.stem} has ended:\n{log.read_text(errors='replace')[-4000:]}")
            await asyncio.sleep(_LOOK_AGAIN)


async def _well(*probe: str) -> bool:
    process = await asyncio.create_subprocess_exec(*probe, stdout=PIPE, stderr=STDOUT)
    await process.communicate()
    return process.returncode == 0


async def run_program(*argv: Any, quiet: bool = False, env: Mapping[str, str] | None = None, **more: Any) -> str:
    """Run a program to its end. Raises SystemExit with its output if it fails."""
    process = await asyncio.create_subprocess_exec(*map(str, argv), stdout=PIPE, stderr=STDOUT, env=env, **more)
    said = (await process.communicate())[0].decode(errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, argv))} ended with code {process.returncode}:\n{said[-4000:]}")
    if not quiet and said.strip():
        print(said.strip().splitlines()[-1])
    return said
