"""Settings: what the environment says, read once and in one place."""

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
    *("HOLDFAST_HOME", "HOLDFAST_CACHE", "HOLDFAST_POSTGRES_BIN", "HOLDFAST_TEMPORAL_BIN"),
    *("HOLDFAST_MANAGED_CONFIG", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
)


_BY_FILE: Final = re.compile(r"(HOLDFAST_POSTGRES_URL|[A-Z][A-Z0-9_]*_API_KEY)_FILE")  # X_FILE holds X
_IN_ADDRESS: Final = re.compile(r"://[^:/@]*:([^@/]+)@")  # the password of postgresql://user:password@host
_ANYWHERE: Final = "*"
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


# what each command reads for itself, or another check compares
_OF_A_COMMAND: Final = frozenset(
    {"home", "cache", "config", "environment", "worker", "postgres_url", "start_seconds", "bell", "alive_file"}
)


def _variable(field: str) -> str:
    return f"HOLDFAST_{field.upper()}"


def _splittable(command: str) -> str:
    """A command line as a shell would read it, though none does. Raises ValueError for quotes that do not match."""
    shlex.split(command)
    return command


class Detail(StrEnum):
    """How much Temporal's own UI says of a session's calls."""

    NAMES = "names"
    FULL = "full"


class Resume(StrEnum):
    """What becomes of sessions that were at work when their stack ended, once it is started again."""

    AUTO = "auto"
    ASK = "ask"
    NEVER = "never"


class Settings(Value):
    """Everything that the environment decides; a field is read from `HOLDFAST_` and its name in capitals.

    `environment` is the whole mapping, for those who look names up in it (keys, `{env:}`, tool environments) and for
    child processes: it holds secrets, so it is not part of what is printed. Paths are absolute, in it too.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=_variable), validate_by_name=True, validate_by_alias=True
    )

    home: Path
    cache: Path
    config: Path
    environment: Mapping[str, str] = Field(default={}, repr=False)

    managed_config: Path = Path("/etc/opencode")  # the administrator's configuration, above everybody's

    worker: bool = True  # false: `up` starts no worker, they run elsewhere
    task_queue: str = "holdfast"
    host: str | None = Field(default=None, pattern=r"^(\*|[A-Za-z0-9_.-]{1,100})$")  # where our files are
    namespace: str = "default"  # of the embedded Temporal

    postgres_url: str | None = Field(default=None, repr=False)
    lossy_database: bool = False  # true: take a PostgreSQL that may lose what it has acknowledged
    postgres_binaries: Path | None = Field(default=None, validation_alias="HOLDFAST_POSTGRES_BIN")
    postgres_user: str = "holdfast"  # whom PostgreSQL runs as when we are root
    temporal_binary: Path | None = Field(default=None, validation_alias="HOLDFAST_TEMPORAL_BIN")
    temporal_dynamic: str = ""  # more dynamic configuration of the embedded server: KEY=VALUE, separated by blanks

    start_seconds: float = Field(default=90, gt=0)  # how long `up` waits for the servers
    drain_seconds: float = Field(default=10, ge=0)  # how long a stopping worker lets activities finish
    idle_seconds: float = Field(default=300, gt=0)  # an idle session's run completes after this
    history_events: int = Field(default=2000, gt=10)  # a run continues as new past this many events
    heartbeat_seconds: float = Field(default=3, gt=0)  # a silent activity counts as dead after this
    sticky_seconds: float = Field(default=1, gt=0)  # a silent worker loses a run's next task after this
    patience_seconds: float = Field(default=86_400, gt=0)  # how long a provider's failures are waited out in all
    retry_seconds: float = Field(default=2, gt=0)  # the first pause after a failure; the next ones grow
    headers_seconds: float = Field(default=120, gt=0)  # a provider that has not taken a request by then has failed
    first_token_seconds: float = Field(default=600, gt=0)  # so has one that then sends nothing for so long
    silence_seconds: float = Field(default=300, gt=0)  # and one that falls silent in its answer for so long
    resume: Resume = Resume.AUTO  # whether what was at work goes on by itself when the stack is started again
    summaries: Detail = Detail.NAMES  # what Temporal's UI says of calls: `names` or `full` (redacted)
    retention_days: int = Field(default=7, gt=0)  # finished runs stay in the embedded Temporal for so long
    archive_after_days: float | None = Field(default=None, gt=0)  # sessions that rest for so long go into files
    metrics_port: int | None = Field(default=None, gt=0, lt=65535)  # of Prometheus; the SDK's are at the next port
    metrics_host: str = "127.0.0.1"
    traces_endpoint: str | None = None  # of an OpenTelemetry collector: http://HOST:4318/v1/traces
    notify: Annotated[str, AfterValidator(_splittable)] | None = None  # a person's command: an event on its input
    bell: bool = True  # of the terminal, when an ask waits or a task ends
    log_megabytes: float = Field(default=10, gt=0)  # of each process of the stack; one older piece is kept beside it
    database_connections: int = Field(default=10, gt=0)  # of one worker
    alive_file: Path | None = None  # a worker touches it every few seconds, for whoever looks after its container

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read the settings from `environ`, by default this process's environment; an empty variable counts as unset.

        Raises UsageError that names the variable.
        """
        environment = dict(os.environ if environ is None else environ)
        environment |= {name: str(_absolute(environment[name])) for name in _PATHS if environment.get(name)}
        environment |= _from_files(environment)
        given = {name: environment[name] for name in _variables(cls) if environment.get(name)}
        try:
            settings = cls.model_validate(_directories(environment) | given | {"environment": environment})
        except ValidationError as error:
            raise UsageError(_explain(error)) from None
        return settings._placed()

    def _placed(self) -> Self:
        """With a host named: where Temporal is not this machine's own, workers of other machines may ask it, too.

        `*` names none: all workers share all files.
        """
        if self.host is None and self.external_temporal is not None:
            return self.model_copy(update={"host": socket.gethostname()})
        return self.model_copy(update={"host": None}) if self.host == _ANYWHERE else self

    @property
    def auth(self) -> Path:
        """The file with the keys of `holdfast auth login`."""
        return self.home / "auth.json"

    @property
    def handover(self) -> Path:
        """The file with the keys that shells have handed over to the worker."""
        return self.home / "run" / "keys.json"

    def holds_user_home(self, directory: Path) -> bool:
        """Whether a directory is the user's home, or one above it, as the root directory is."""
        user = Path(self.environment.get("HOME") or Path.home())
        return user.resolve().is_relative_to(directory.resolve())

    def secrets(self) -> list[str]:
        """Values of the environment that look like secrets by their names, to be kept out of what others see."""
        password = _IN_ADDRESS.search(self.postgres_url or "")
        named = [value for name, value in self.environment.items() if _SECRET.search(name)]
        return [*named, unquote(password[1])] if password else named

    def digests(self) -> dict[str, str]:
        """What a running stack goes by: a digest of each value, by its variable. A value may hold a password."""
        values = self.model_dump(mode="json", exclude=set(_OF_A_COMMAND))
        fields = type(self).model_fields
        return {str(fields[name].validation_alias): _digest(value) for name, value in values.items()}

    @property
    def archive_after(self) -> timedelta | None:
        """How long a session rests before it is archived; None: it stays."""
        return None if self.archive_after_days is None else timedelta(days=self.archive_after_days)

    @property
    def identity(self) -> str:
        """How this process signs in histories: short, for it is in most events, and without the host's name."""
        return f"h{os.getpid()}"

    @property
    def external_temporal(self) -> str | None:
        """What names an external Temporal server, if something does: an address, or a profile of its configuration."""
        profile = self.environment.get("TEMPORAL_PROFILE")
        return self.environment.get("TEMPORAL_ADDRESS") or (f"profile {profile}" if profile else None)


def process_environment() -> MutableMapping[str, str]:
    """The environment of this very process, for a library that can only be told things through it."""
    return os.environ


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _variables(settings: type[Settings]) -> list[str]:
    fields = settings.model_fields.items()
    elsewhere = {"home", "cache", "config", "environment"}
    return [str(field.validation_alias) for name, field in fields if name not in elsewhere]


def _from_files(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that stand in files, as containers get them: by `X_FILE`, where X itself is not set."""
    found = {}
    for name, path in environment.items():
        given = _BY_FILE.fullmatch(name)
        if given is not None and path and not environment.get(given[1]):
            found[given[1]] = _secret(name, path)
    return found


def _secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}={path!r} cannot be read: {error}.") from None


def _directories(environment: Mapping[str, str]) -> dict[str, Path]:
    """Our directories by the XDG rules, which ignore relative paths; HOLDFAST_HOME and HOLDFAST_CACHE override."""
    user = Path(environment.get("HOME") or Path.home())

    def xdg(name: str, otherwise: str) -> Path:
        named = Path(environment.get(name, ""))
        return named if named.is_absolute() else user / otherwise

    return {
        "home": Path(environment.get("HOLDFAST_HOME") or xdg("XDG_DATA_HOME", ".local/share") / "holdfast"),
        "cache": Path(environment.get("HOLDFAST_CACHE") or xdg("XDG_CACHE_HOME", ".cache") / "holdfast"),
        "config": xdg("XDG_CONFIG_HOME", ".config") / "opencode",
    }


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{first['loc'][0]}={first['input']!r} cannot be used: {first['msg']}."
