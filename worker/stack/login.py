"""Starting at login: a systemd unit of the user's own, which runs `holdfast up`."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import programs
from worker.stack.layout import Layout
from workflows.domain.errors import Unavailable

Say = Callable[[str], None]
_UNIT: Final = """\
[Unit]
Description=Holdfast: PostgreSQL, Temporal and a worker, in {home}

[Service]
Type=oneshot
RemainAfterExit=yes
{environment}
ExecStart=:{program} up
ExecStop=:{program} down
# the first start may build Temporal; the worker may finish what it is at
TimeoutStartSec=15min
TimeoutStopSec=3min

[Install]
WantedBy=default.target
"""
_PLAIN: Final = ("PATH", "LANG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_PATIENCE: Final = 30.0  # seconds for systemd
_KEPT_OUT: Final = "HOLDFAST_POSTGRES_URL"  # it may hold a password, and units are no place for one


def unit(settings: Settings) -> Path:
    """The unit's file: one for each home."""
    default = Settings.read({**settings.environment, "HOLDFAST_HOME": ""}).home
    name = "holdfast" if settings.home == default else f"holdfast-{Layout(home=settings.home).key}"
    return settings.config.parent / "systemd" / "user" / f"{name}.service"


async def enable(settings: Settings, say: Say) -> None:
    """Write the unit, and have systemd start it at each login; says what is left to do where that cannot be had."""
    file = unit(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text(settings))
    say(f"Written: {file}")
    if settings.environment.get(_KEPT_OUT):
        say(f"{_KEPT_OUT} is left out, for it may hold a password: `systemctl --user edit {file.name}` takes it.")
    trouble = await _systemctl(settings, "daemon-reload") or await _systemctl(settings, "enable", file.name)
    if trouble:
        say(f"systemd does not take it here ({trouble}). Where you log in with systemd:")
        say(f"  systemctl --user daemon-reload && systemctl --user enable {file.name}")
        say("Without systemd, this line in your crontab does the same: @reboot holdfast up")
        return
    say("The stack starts when you log in; with `loginctl enable-linger`, when the machine does.")


async def disable(settings: Settings, say: Say) -> None:
    """Remove the unit; what runs goes on."""
    file = unit(settings)
    if not file.exists():
        say("The stack does not start at login: there is nothing to remove.")
        return
    await _systemctl(settings, "disable", file.name)
    file.unlink()
    await _systemctl(settings, "daemon-reload")
    say(f"Removed: {file}")


def text(settings: Settings) -> str:
    """The unit, with those of our variables that hold no secret; `:` before a program keeps its `$` as they are."""
    secret = settings.secrets()
    ours = {name: value for name, value in settings.environment.items() if name.startswith("HOLDFAST_")}
    plain = {name: settings.environment[name] for name in _PLAIN if settings.environment.get(name)}
    kept = {
        name: value for name, value in sorted({**plain, **ours}.items()) if value not in secret and name != _KEPT_OUT
    }
    return _UNIT.format(
        home=_percent(str(settings.home)),
        environment="\n".join(f"Environment={quoted(f'{name}={value}')}" for name, value in kept.items()),
        program=quoted(str(Path(sys.executable).with_name("holdfast"))),
    )


def quoted(word: str) -> str:
    """One word of a unit, whatever it holds (systemd.syntax(7), systemd.unit(5) on specifiers)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_percent(escaped)}"'


def _percent(word: str) -> str:
    return word.replace("%", "%%")


async def _systemctl(settings: Settings, *words: str) -> str | None:
    """Why systemd could not do it; None when it has."""
    program = programs.find("systemctl", settings.environment)
    if program is None:
        return "there is no systemctl"
    process = await asyncio.create_subprocess_exec(
        *(program, "--user", *words), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=settings.environment
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _PATIENCE)
    except TimeoutError as error:
        process.kill()
        raise Unavailable(f"`systemctl --user {' '.join(words)}` does not answer.") from error
    return None if process.returncode == 0 else " ".join(said.decode(errors="replace").split())
