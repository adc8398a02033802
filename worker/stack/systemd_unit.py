"""Start at login: the user's systemd unit, which runs `holdfast up`."""

import asyncio
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs
from worker.stack.layout import Layout, make_directory
from worker.stack.state_file import write_private
from workflows.domain.errors import Unavailable

Report = Callable[[str], None]
_UNIT: Final = """\
[Unit]
Description=Holdfast: PostgreSQL, Temporal and a worker, in {home}

[Service]
Type=oneshot
RemainAfterExit=yes
{environment}
ExecStart=:{program} up
ExecStop=:{program} down
TimeoutStartSec=15min
# a stopping worker finishes what it is doing
TimeoutStopSec=3min

[Install]
WantedBy=default.target
"""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_PREFIXES: Final = ("HOLDFAST_", "TEMPORAL_")
_OF_FILES: Final = ("_FILE", "_PATH")  # the secret is in the file
_PASSED_VARIABLES: Final = (
    *("PATH", "LANG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
    *(*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
_SYSTEMCTL_TIMEOUT: Final = 30.0  # seconds


def unit_path(settings: Settings) -> Path:
    """One per home."""
    name = "holdfast" if settings.is_default_home else f"holdfast-{Layout(home=settings.home).key}"
    return settings.config.parent / "systemd" / "user" / f"{name}.service"


async def enable(settings: Settings, report: Report) -> None:
    """Write and enable the unit; reports what is left to do by hand."""
    file = unit_path(settings)
    make_directory(file.parent)
    write_private(file, unit_text(settings).encode())
    report(f"Written: {file}")
    for name in sorted(_variables(settings).keys() - _plain_variables(settings).keys()):
        report(f"{name} is left out: it may hold a password; `systemctl --user edit {file.name}` takes it.")
    trouble = await _systemctl(settings, "daemon-reload") or await _systemctl(settings, "enable", file.name)
    if trouble:
        report(f"systemd does not take it here ({trouble}). Where you log in with systemd:")
        report(f"  systemctl --user daemon-reload && systemctl --user enable {file.name}")
        report(f"Without systemd, this line in your crontab does the same: @reboot {shlex.quote(str(_program()))} up")
        return
    report("The stack starts when you log in; with `loginctl enable-linger`, when the machine does.")


async def disable(settings: Settings, report: Report) -> None:
    """Remove the unit; a running stack goes on."""
    file = unit_path(settings)
    if not file.exists():
        report("The stack does not start at login: there is nothing to remove.")
        return
    await _systemctl(settings, "disable", file.name)
    file.unlink()
    await _systemctl(settings, "daemon-reload")
    report(f"Removed: {file}")


def unit_text(settings: Settings) -> str:
    """Its variables except secrets; `:` before a program keeps each `$` literal."""
    variables = _plain_variables(settings).items()
    return _UNIT.format(
        home=_percent(str(settings.home)),
        environment="\n".join(f"Environment={quote_word(f'{name}={value}')}" for name, value in variables),
        program=quote_word(str(_program())),
    )


def _program() -> Path:
    """Neither systemd nor cron has the shell's PATH."""
    return Path(sys.executable).with_name("holdfast")


def _variables(settings: Settings) -> dict[str, str]:
    """What the stack needs of the shell's, sorted."""
    set_here = sorted((name, value) for name, value in settings.environment.items() if value)
    return {name: value for name, value in set_here if name.startswith(_PREFIXES) or name in _PASSED_VARIABLES}


def _plain_variables(settings: Settings) -> dict[str, str]:
    """The variables that hold no secret."""
    secret = settings.secrets()

    def is_plain(name: str, value: str) -> bool:
        login = name in ("HOLDFAST_POSTGRES_URL", "HOLDFAST_POSTGRES_POOLER_URL") or (
            name.upper() in _PROXIES and "@" in value
        )
        return not login and (value not in secret or name.endswith(_OF_FILES))

    return {name: value for name, value in _variables(settings).items() if is_plain(name, value)}


def quote_word(word: str) -> str:
    """Quote any word (systemd.syntax(7); systemd.unit(5) on specifiers)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_percent(escaped)}"'


def _percent(word: str) -> str:
    return word.replace("%", "%%")


async def _systemctl(settings: Settings, *words: str) -> str | None:
    program = child_programs.find("systemctl", settings.environment)
    if program is None:
        return "there is no systemctl"
    try:
        async with asyncio.timeout(_SYSTEMCTL_TIMEOUT):
            code, output = await child_programs.run(program, "--user", *words, environment=settings.environment)
    except TimeoutError as error:
        raise Unavailable(f"`systemctl --user {' '.join(words)}` does not answer.") from error
    return None if code == 0 else " ".join(output.split())
