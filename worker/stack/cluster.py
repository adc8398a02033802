"""The data of the embedded PostgreSQL: where they lie, whom they belong to, and how they are made."""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypedDict
from urllib.parse import quote

from worker.settings import Settings
from worker.stack import accounts
from worker.stack.accounts import Account
from worker.stack.binaries import postgres as binaries
from worker.stack.binaries.postgres import PostgresBinaries
from worker.stack.layout import Layout
from worker.stack.linux import dies_with_me
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.value import Value

ROLE: Final = "holdfast"  # the application's role, which is no superuser, and the name of its database
SUPERUSER: Final = "postgres"
_LONGEST_SOCKET: Final = 100  # bytes of a socket's path that every system takes


class Identity(TypedDict, total=False):
    """As whom a program is started; empty for ourselves."""

    user: int
    group: int
    extra_groups: list[int]


class Cluster(Value):
    """One data directory, the programs that serve it, whom they run as, and who may connect."""

    binaries: PostgresBinaries
    root: Path
    sockets: Path
    account: Account
    client: Account

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    @property
    def identity(self) -> Identity:
        if self.account == self.client:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}

    def url(self, role: str = ROLE, database: str = ROLE) -> str:
        """The address of a database for a role; it has no password: the kernel tells the server who connects."""
        return f"postgresql://{role}@/{database}?host={quote(str(self.sockets), safe='')}"


async def locate(settings: Settings) -> Cluster:
    """The stack's cluster, which may not exist yet. Raises UsageError when nothing here can serve it."""
    client = account = accounts.mine()
    root = root_of(settings)
    found = await binaries.find(settings, major(root))
    if client.uid == 0:
        account = await accounts.unprivileged(settings.postgres_user, settings.environment)
        _open_to_all(accounts.STATE)
        found = await binaries.readable(found, accounts.STATE)
    return Cluster(binaries=found, root=root, sockets=sockets_of(settings, root), account=account, client=client)


def root_of(settings: Settings) -> Path:
    """Where the data are: in the stack's home, or, because root's home is closed to others, in the system's."""
    layout = Layout(home=settings.home)
    return accounts.STATE / layout.key if os.geteuid() == 0 else layout.home / "postgres"


def major(root: Path) -> int | None:
    """The major version of the PostgreSQL that made the data, or None without data."""
    try:
        return int((root / "data" / "PG_VERSION").read_text())
    except FileNotFoundError:
        return None


async def create(cluster: Cluster, settings: Settings, say: Callable[[str], None]) -> None:
    """Make the cluster's directories and, where there are none, its data: completely, or not at all."""
    for directory in (cluster.root, cluster.sockets):
        _private(directory, cluster.account)
    if cluster.data.exists():
        return
    say(f"Creating the database with PostgreSQL {cluster.binaries.major}.")
    scratch = cluster.root / "data.new"
    await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    environment = environment_of(settings.environment)
    initdb = (cluster.binaries.program("initdb"), "-D", str(scratch), "-U", SUPERUSER, "--data-checksums")
    await _run(cluster, environment, *initdb, "--encoding=UTF8", "--locale=C", "--auth=peer")
    (scratch / "pg_hba.conf").write_text("local all all peer map=holdfast\n")
    (scratch / "pg_ident.conf").write_text(_identities(cluster))
    (cluster.root / "HOME").write_text(f"{settings.home}\n")  # for a person who wonders whose data these are
    single = (cluster.binaries.program("postgres"), "--single", "-D", str(scratch), "template1")
    script = f"CREATE ROLE {ROLE} LOGIN\nCREATE DATABASE {ROLE} OWNER {ROLE}\n"
    await _run(cluster, environment, *single, script=script)
    scratch.rename(cluster.data)


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What PostgreSQL's programs get of our environment: nothing that configures a client, and no secrets."""
    kept = {name: environment[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in environment}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def _identities(cluster: Cluster) -> str:
    names = {cluster.account.name, cluster.client.name}
    return "".join(f'holdfast "{name}" {role}\n' for name in sorted(names) for role in (ROLE, SUPERUSER))


def sockets_of(settings: Settings, root: Path) -> Path:
    """Where the server's socket lies: beside the data, or, where that path would be too long, in a short one."""
    beside = root / "run"
    if len(bytes(beside / ".s.PGSQL.5432")) <= _LONGEST_SOCKET:
        return beside
    return Path(f"/tmp/holdfast-{os.geteuid()}-{Layout(home=settings.home).key}")


def _open_to_all(directory: Path) -> None:
    """Make a directory that others may pass through; one that exists keeps its rights."""
    if not directory.exists():
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o755)


def _private(directory: Path, account: Account) -> None:
    """Make a directory that only `account` may enter; one that exists must be such a directory already."""
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        found = directory.lstat()
        if found.st_uid != account.uid or found.st_mode & 0o170077 != 0o040000:
            raise UsageError(
                f"{str(directory)!r} must be a directory that belongs to {account.name!r} alone (mode 0700): "
                "move away what is there."
            ) from None
        return
    if account.uid != os.geteuid():
        os.chown(directory, account.uid, account.gid)


async def _run(cluster: Cluster, environment: Mapping[str, str], *argv: str, script: str = "") -> None:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=cluster.root,
        env=environment,
        preexec_fn=dies_with_me(signal.SIGKILL),  # an orphan would go on writing into what the next `up` makes anew
        **cluster.identity,
    )
    said = (await process.communicate(script.encode()))[0].decode(errors="replace")
    if process.returncode != 0 or "ERROR:" in said:  # a single-user server ends with 0 after a failed statement
        raise Unavailable(f"{Path(argv[0]).name} could not make the database in {str(cluster.root)!r}:\n{said.strip()}")
