"""The servers of docker-compose.yml without containers: its settings, its scripts, its order."""

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

from tests.production.programs import Programs
from worker.settings import Settings
from worker.stack import accounts
from worker.stack.binaries import postgres
from worker.stack.binaries.postgres import PostgresBinaries
from worker.stack.binaries.temporal import TemporalBinary
from worker.stack.cluster import Cluster
from worker.stack.ports import LOOPBACK, free

ROOT: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = ROOT / "docs" / "deploy"
_PORTS: Final = range(21000, 31000)  # a member of a Temporal cluster is not found on a port of 32768 or more
_SERVICES: Final = ("FRONTEND", "HISTORY", "MATCHING", "WORKER")
_EXTENSION: Final = "btree_gin"
_EMPTY: Final = "empty"  # a database for what is restored
_PATIENCE: Final = 180.0  # seconds for a server to serve
_LOOK_AGAIN: Final = 0.2


@dataclass(frozen=True)
class Served:
    """Where the servers are, and the environment of whoever runs against them; `empty_url` is of a second database."""

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
async def servers(settings: Settings, built: Programs, cli: TemporalBinary, directory: Path) -> AsyncIterator[Served]:
    """PostgreSQL, the databases, Temporal's schema, Temporal, its namespace: as the compose file starts them."""
    ports = iter([port for port in _PORTS if free(port)][:10])
    secrets = directory / "secrets"
    await done("sh", DEPLOY / "make-secrets.sh", secrets)
    database = next(ports)
    async with (
        _postgres(settings, directory, secrets, database) as cluster,
        _temporal(built, cli, directory, secrets, database, ports) as address,
    ):
        url = (secrets / "holdfast_url").read_text().replace("@postgres/", f"@{LOOPBACK}:{database}/")
        (directory / "url").write_text(url)
        own = {"HOLDFAST_POSTGRES_URL_FILE": str(directory / "url"), "HOLDFAST_HOST": "production"}
        environment = {**_environment("worker"), **own, "TEMPORAL_ADDRESS": address}
        yield Served(environment, address, url, url.removesuffix("holdfast") + _EMPTY, cluster)


@asynccontextmanager
async def _postgres(settings: Settings, directory: Path, secrets: Path, port: int) -> AsyncIterator[Cluster]:
    found, account = await _binaries(settings), accounts.mine()
    if account.uid == 0:
        account = await accounts.unprivileged(settings.postgres_user, settings.environment)
    home = directory / "postgres"
    home.mkdir(mode=0o700)
    os.chown(home, account.uid, account.gid)
    identity: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []}
    own = identity if os.geteuid() == 0 else {}
    how = compose("postgres")["environment"]["POSTGRES_INITDB_ARGS"].split()
    data = str(home / "data")
    initdb = (found.program("initdb"), "-D", data, "-U", "postgres", "--auth-local=trust", "--encoding=UTF8", *how)
    await done(*initdb, cwd=home, quiet=True, **own)
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
        await serving(running, log, found.program("pg_isready"), "-h", LOOPBACK, "-p", str(port))
        await done("sh", DEPLOY / "databases.sh", env=environment, quiet=True)
        await done(found.program("createdb"), "--username=postgres", "--owner=holdfast", _EMPTY, env=environment)
        yield Cluster(binaries=found, root=home, sockets=home, account=account, client=accounts.mine())


async def _binaries(settings: Settings) -> PostgresBinaries:
    """The system's PostgreSQL: the one of our wheel lacks an extension that Temporal's visibility needs."""
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
    built: Programs, cli: TemporalBinary, directory: Path, secrets: Path, database: int, ports: Any
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
        await done(*with_passwords, "sh", DEPLOY / "temporal-schema.sh", env={**path, **schema}, quiet=True)
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
        await serving(running, log, str(cli.path), "operator", "cluster", "health", "--address", address)
        named = {**path, **_environment("temporal-namespace"), "TEMPORAL_ADDRESS": address}
        await done("sh", DEPLOY / "temporal-namespace.sh", env=named, quiet=True)
        yield address


def _environment(service: str) -> dict[str, str]:
    return {name: str(value) for name, value in compose(service)["environment"].items()}


@asynccontextmanager
async def image(directory: Path) -> AsyncIterator[Path]:
    """What the Dockerfile installs, by its own commands, from nothing but the files that it copies; its `bin`."""
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
            await done(uv, *command, "--quiet", cwd=source, env={**kept, **own})
    yield target / "bin"


@asynccontextmanager
async def program(*argv: Any, log: Path, **more: Any) -> AsyncIterator[Process]:
    """A program that runs as long as the block; it is asked to end, and killed if it does not."""
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


async def serving(process: Process, log: Path, *probe: str) -> None:
    """Wait until the probe says that the program serves."""
    async with asyncio.timeout(_PATIENCE):
        while not await _well(*probe):
            if process.returncode is not None:
                raise SystemExit(f"{log.stem} has ended:\n{log.read_text(errors='replace')[-4000:]}")
            await asyncio.sleep(_LOOK_AGAIN)


async def _well(*probe: str) -> bool:
    process = await asyncio.create_subprocess_exec(*probe, stdout=PIPE, stderr=STDOUT)
    await process.communicate()
    return process.returncode == 0


async def done(*argv: Any, quiet: bool = False, env: Mapping[str, str] | None = None, **more: Any) -> str:
    """Run a program to its end. Raises SystemExit with what it has said when it fails."""
    process = await asyncio.create_subprocess_exec(*map(str, argv), stdout=PIPE, stderr=STDOUT, env=env, **more)
    said = (await process.communicate())[0].decode(errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, argv))} ended with code {process.returncode}:\n{said[-4000:]}")
    if not quiet and said.strip():
        print(said.strip().splitlines()[-1])
    return said
