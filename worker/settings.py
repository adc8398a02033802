"""The environment's settings, read once."""

import hashlib
import json
import os
import re
import shlex
import socket
from collections.abc import Mapping, MutableMapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import unquote

from pydantic import AfterValidator, AliasGenerator, ConfigDict, Field, ValidationError

from workflows.domain.errors import UsageError
from workflows.domain.value import Value

_PATHS: Final = (
    *("HOME", "HOLDFAST_HOME", "HOLDFAST_POSTGRES_BIN", "HOLDFAST_TEMPORAL_BIN"),
    *("HOLDFAST_MANAGED_CONFIG", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
)


# X_FILE holds X
_FILE_VARIABLE: Final = re.compile(r"(HOLDFAST_POSTGRES_(?:POOLER_)?URL|[A-Z][A-Z0-9_]*_API_KEY)_FILE")
_URL_PASSWORD: Final = re.compile(r"://[^:/@]*:([^@/]+)@")  # the password in postgresql://user:password@host
_ANY_HOST: Final = "*"
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


# read by single commands, or compared by another check
_COMMAND_ONLY: Final = frozenset(
    {"home", "config", "environment", "worker", "postgres_url", "start_seconds", "bell", "alive_file"}
)


def _variable(field: str) -> str:
    return f"HOLDFAST_{field.upper()}"


def _valid_command(command: str) -> str:
    """Shell syntax, run without a shell. Raises ValueError for unmatched quotes."""
    shlex.split(command)
    return command


class SummaryDetail(StrEnum):
    """How much of calls Temporal's UI shows."""

    NAMES = "names"
    FULL = "full"


class ResumePolicy(StrEnum):
    """Whether working sessions resume when their stack restarts."""

    AUTO = "auto"
    ASK = "ask"
    NEVER = "never"


class Settings(Value):
    """Each field is read from `HOLDFAST_` and its name in capitals; paths are absolute.

    `environment` is never printed: it holds secrets.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=_variable), validate_by_name=True, validate_by_alias=True
    )

    home: Path
    config: Path
    environment: Mapping[str, str] = Field(default={}, repr=False)

    managed_config: Path = Path("/etc/opencode")  # of the administrator, above all others

    worker: bool = True  # false: workers run elsewhere
    task_queue: str = "holdfast"
    host: str | None = Field(default=None, pattern=r"^(\*|[A-Za-z0-9_.-]{1,100})$")  # names where our files are
    namespace: str = "default"  # of the embedded Temporal

    postgres_url: str | None = Field(default=None, repr=False)
    postgres_pooler_url: str | None = Field(default=None, repr=False)  # a transaction pooler in front of it
    lossy_database: bool = False  # accept a PostgreSQL that may lose acknowledged commits
    postgres_binaries: Path | None = Field(default=None, validation_alias="HOLDFAST_POSTGRES_BIN")
    postgres_user: str = "holdfast"  # PostgreSQL's user when we are root
    temporal_binary: Path | None = Field(default=None, validation_alias="HOLDFAST_TEMPORAL_BIN")
    temporal_dynamic: str = ""  # of the embedded server: KEY=VALUE, separated by blanks

    start_seconds: float = Field(default=90, gt=0)  # `up` waits for the servers
    drain_seconds: float = Field(default=10, ge=0)  # for a stopping worker's activities
    idle_seconds: float = Field(default=300, gt=0)  # until an idle session's run completes
    history_events: int = Field(default=2000, gt=10)  # until a run continues as new
    heartbeat_seconds: float = Field(default=3, gt=0)  # until a silent activity counts as dead
    sticky_seconds: float | None = Field(default=None, gt=0)  # until a silent worker loses a run's next task
    reconcile_seconds: float = Field(default=30, gt=0)  # until a stuck session is repaired
    retry_budget_seconds: float = Field(default=86_400, gt=0)  # total, over a provider's failures
    retry_seconds: float = Field(default=2, gt=0)  # first pause after a failure; later ones grow
    headers_seconds: float = Field(default=120, gt=0)  # until a provider accepts a request
    first_token_seconds: float = Field(default=600, gt=0)  # then to its first piece
    silence_seconds: float = Field(default=300, gt=0)  # then for each further silence
    models_url: str | None = None  # source of `holdfast models --refresh`
    resume: ResumePolicy = ResumePolicy.AUTO
    summaries: SummaryDetail = SummaryDetail.NAMES  # `full` is redacted
    retention_days: int = Field(default=7, gt=0)  # of finished runs in the embedded Temporal
    archive_after_days: float | None = Field(default=None, gt=0)  # idle sessions go into files
    metrics_port: int | None = Field(default=None, gt=0, lt=65535)  # of Prometheus; the SDK's is the next port
    metrics_host: str = "127.0.0.1"
    traces_endpoint: str | None = None  # of an OpenTelemetry collector: http://HOST:4318/v1/traces
    notify: Annotated[str, AfterValidator(_valid_command)] | None = None  # a command: gets an event on its input
    bell: bool = True  # the terminal's, when an ask waits or a task ends
    log_megabytes: float = Field(default=10, gt=0)  # per process; one older piece is kept
    database_connections: int = Field(default=10, gt=0)  # per worker
    alive_file: Path | None = None  # touched for container health checks

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Self:
        """From `environ` or this process; an empty variable counts as unset. Raises UsageError, naming the variable."""
        environment = dict(os.environ if environ is None else environ)
        environment |= {name: str(_absolute(environment[name])) for name in _PATHS if environment.get(name)}
        environment |= _from_files(environment)
        given = {name: environment[name] for name in _variables(cls) if environment.get(name)}
        try:
            settings = cls.model_validate(_directories(environment) | given | {"environment": environment})
        except ValidationError as error:
            raise UsageError(_explain(error)) from None
        return settings._with_host()

    def _with_host(self) -> Self:
        """An external Temporal may serve other machines: name the host, unless all workers share all files (`*`)."""
        if self.host is None and self.external_temporal is not None:
            return self.model_copy(update={"host": socket.gethostname()})
        return self.model_copy(update={"host": None}) if self.host == _ANY_HOST else self

    @property
    def sticky_timeout(self) -> timedelta:
        """The stack's worker is alone: it has time, for none could take a task, and its successor lets none wait."""
        return timedelta(seconds=self.sticky_seconds or (5 if self.external_temporal is None else 1))

    @property
    def is_default_home(self) -> bool:
        """No other one is named by HOLDFAST_HOME."""
        return self.home == _directories({**self.environment, "HOLDFAST_HOME": ""})["home"]

    @property
    def auth(self) -> Path:
        return self.home / "auth.json"

    @property
    def mcp_logins(self) -> Path:
        """Written by `holdfast mcp auth`."""
        return self.home / "mcp-auth.json"

    @property
    def models_file(self) -> Path:
        """Written by `holdfast models --refresh`."""
        return self.home / "models.json"

    @property
    def credentials_file(self) -> Path:
        """The keys that shells handed over to the worker."""
        return self.home / "run" / "keys.json"

    def holds_user_home(self, directory: Path) -> bool:
        """Whether it is the user's home or an ancestor."""
        user = Path(self.environment.get("HOME") or Path.home())
        return user.resolve().is_relative_to(directory.resolve())

    def secrets(self) -> list[str]:
        """Values of variables whose names suggest secrets."""
        named = [value for name, value in self.environment.items() if _SECRET.search(name)]
        proxies = (value for name, value in self.environment.items() if name.upper().endswith("_PROXY"))
        addresses = (value if "://" in value else f"://{value}" for value in proxies)
        known = (*addresses, self.postgres_url or "", self.postgres_pooler_url or "")
        return [*named, *(unquote(found[1]) for address in known if (found := _URL_PASSWORD.search(address)))]

    def digests(self) -> dict[str, str]:
        """Digests by variable, to compare with a running stack's: values may hold passwords."""
        values = self.model_dump(mode="json", exclude=set(_COMMAND_ONLY))
        fields = type(self).model_fields
        return {
            str(fields[name].validation_alias): hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
            for name, value in values.items()
        }

    @property
    def archive_after(self) -> timedelta | None:
        """How long sessions may be idle before they are archived; None: for ever."""
        return None if self.archive_after_days is None else timedelta(days=self.archive_after_days)

    @property
    def identity(self) -> str:
        """Short, because most events hold it; without the host's name."""
        return f"h{os.getpid()}"

    @property
    def external_temporal(self) -> str | None:
        """An address, or a profile of its configuration."""
        profile = self.environment.get("TEMPORAL_PROFILE")
        return self.environment.get("TEMPORAL_ADDRESS") or (f"profile {profile}" if profile else None)


def process_environment() -> MutableMapping[str, str]:
    """For libraries that read only this process's own environment."""
    return os.environ


def _variables(settings: type[Settings]) -> list[str]:
    fields = settings.model_fields.items()
    elsewhere = {"home", "config", "environment"}
    return [str(field.validation_alias) for name, field in fields if name not in elsewhere]


def _from_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Containers mount secrets as files: `X_FILE`, where X is unset."""
    found = {}
    for name, path in environment.items():
        given = _FILE_VARIABLE.fullmatch(name)
        if given is not None and path and not environment.get(given[1]):
            found[given[1]] = _secret(name, path)
    return found


def _secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}={path!r} cannot be read: {error}.") from None


def _directories(environment: Mapping[str, str]) -> dict[str, Path]:
    """XDG ignores relative paths; HOLDFAST_HOME overrides."""
    user = Path(environment.get("HOME") or Path.home())

    def xdg(name: str, otherwise: str) -> Path:
        named = Path(environment.get(name, ""))
        return named if named.is_absolute() else user / otherwise

    return {
        "home": Path(environment.get("HOLDFAST_HOME") or xdg("XDG_DATA_HOME", ".local/share") / "holdfast"),
        "config": xdg("XDG_CONFIG_HOME", ".config") / "opencode",
    }


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{first['loc'][0]}={first['input']!r} cannot be used: {first['msg']}."
