"""The embedded PostgreSQL's data."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypedDict
from urllib.parse import quote

from worker.settings import Settings
from worker.stack import accounts, child_programs
from worker.stack.accounts import Account
from worker.stack.binaries import postgres as binaries
from worker.stack.binaries.postgres import PostgresBinaries
from worker.stack.layout import Layout
from worker.stack.orphaned_processes import parent_death_signal
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.value import Value

ROLE: Final = "holdfast"  # the application's role, no superuser, and its database
SUPERUSER: Final = "postgres"
_MAX_SOCKET_PATH: Final = 100  # bytes, accepted by every system
_MAX_ROOT_PATH: Final = 900  # bytes: PostgreSQL has room for 1,024 with its own names
_PLAIN_PATH: Final = re.compile(r"[^,\"]*")  # PostgreSQL's settings and addresses take lists of directories


class ProcessIdentity(TypedDict, total=False):
    """The user of a program; empty for our own."""

    user: int
    group: int
    extra_groups: list[int]


class Cluster(Value):
    """A data directory, its programs, and who may connect."""

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
    def identity(self) -> ProcessIdentity:
        if self.account == self.client:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}

    def url(self, role: str = ROLE, database: str = ROLE) -> str:
        """No password: the kernel identifies clients."""
        return f"postgresql://{role}@/{database}?host={quote(str(self.sockets), safe='')}"


async def locate(settings: Settings) -> Cluster:
    """The stack's cluster, maybe not created yet. Raises UsageError without usable binaries."""
    client = account = accounts.current_account()
    root = root_of(settings)
    found = await binaries.find(settings, data_version(root))
    if client.uid == 0:
        account = await accounts.ensure_system_user(settings.postgres_user, settings.environment)
        _make_traversable(accounts.SYSTEM_STATE)
        found = await binaries.shared_copy(found, accounts.SYSTEM_STATE)
    return Cluster(binaries=found, root=root, sockets=sockets_of(settings, root), account=account, client=client)


def root_of(settings: Settings) -> Path:
    """The cluster's directory: in the stack's home, but not for root, whose home PostgreSQL's user cannot enter."""
    layout = Layout(home=settings.home)
    return accounts.SYSTEM_STATE / layout.key if os.geteuid() == 0 else layout.home / "postgres"


def data_version(root: Path) -> int | None:
    """PostgreSQL's major version; None without data."""
    try:
        return int((root / "data" / "PG_VERSION").read_text())
    except FileNotFoundError:
        return None


async def create(cluster: Cluster, settings: Settings, report: Callable[[str], None]) -> None:
    """Make the directories and, if missing, the data: completely, or not at all."""
    if not cluster.data.exists():
        _check_path(cluster.root)
    for directory in (cluster.root, cluster.sockets):
        _make_private(directory, cluster.account)
    if cluster.data.exists():
        return
    report(f"Creating the database with PostgreSQL {cluster.binaries.major}.")
    scratch = cluster.root / "data.new"
    await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    environment = environment_of(settings.environment)
    initdb = (cluster.binaries.program("initdb"), "-D", str(scratch), "-U", SUPERUSER, "--data-checksums")
    await _run(cluster, environment, *initdb, "--encoding=UTF8", "--locale=C", "--auth=peer")
    (scratch / "pg_hba.conf").write_text("local all all peer map=holdfast\n")
    (scratch / "pg_ident.conf").write_text(_ident_map(cluster))
    (cluster.root / "HOME").write_text(f"{settings.home}\n")  # tells people whose data these are
    single = (cluster.binaries.program("postgres"), "--single", "-D", str(scratch), "template1")
    script = f"CREATE ROLE {ROLE} LOGIN\nCREATE DATABASE {ROLE} OWNER {ROLE}\n"
    await _run(cluster, environment, *single, script=script)
    scratch.rename(cluster.data)


def _check_path(root: Path) -> None:
    """Raises UsageError for what PostgreSQL's own programs refuse less clearly."""
    if len(bytes(root)) > _MAX_ROOT_PATH or "\n" in str(root) or "\r" in str(root):
        raise UsageError(
            f"PostgreSQL takes no path of more than {_MAX_ROOT_PATH} bytes or with a line break: {str(root)!r}. "
            "Name another home in HOLDFAST_HOME."
        )


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """No client configuration, no secrets."""
    inherited = {name: environment[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in environment}
    return inherited | {"LC_ALL": "C", "TZ": "UTC"}


def _ident_map(cluster: Cluster) -> str:
    names = {cluster.account.name, cluster.client.name}
    return "".join(f'holdfast "{name}" {role}\n' for name in sorted(names) for role in (ROLE, SUPERUSER))


def sockets_of(settings: Settings, root: Path) -> Path:
    """Beside the data, or in a plain path if that is too long, or has what separates directories in settings."""
    socket_dir = root / "run"
    if len(bytes(socket_dir / ".s.PGSQL.5432")) <= _MAX_SOCKET_PATH and _PLAIN_PATH.fullmatch(str(socket_dir)):
        return socket_dir
    return Path(f"/tmp/holdfast-{os.geteuid()}-{Layout(home=settings.home).key}")


def _make_traversable(directory: Path) -> None:
    """Others may pass through; an existing directory keeps its rights."""
    if not directory.exists():
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o755)


def _make_private(directory: Path, account: Account) -> None:
    """Only `account` may enter; an existing directory must be private already."""
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
    code, output = await child_programs.run(
        *argv,
        environment=environment,
        text=script,
        cwd=cluster.root,
        preexec_fn=parent_death_signal(signal.SIGKILL),  # an orphan would write into what the next `up` creates
        **cluster.identity,
    )
    if code != 0 or "ERROR:" in output:  # a single-user server exits with 0 after a failed statement
        raise Unavailable(f"{Path(argv[0]).name} could not make the database in {str(cluster.root)!r}:\n{output}")
