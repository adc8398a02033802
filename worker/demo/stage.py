"""Where a demo plays: a stack of its own beside the user's, and a fresh directory for each time."""

import json
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from pydantic import TypeAdapter

from worker.demo import effect, task
from worker.scripted.script import DEFAULT, Script
from worker.settings import Settings
from workflows.domain.value import Value

EXTERNAL: Final = ("HOLDFAST_POSTGRES_URL", "TEMPORAL_ADDRESS", "TEMPORAL_PROFILE")  # lead to servers of the user's
_USERS: Final = ("HOLDFAST_", "TEMPORAL_", "GIT_")  # what these say is said for the user's own stack and repository
_KEPT: Final = (
    "HOLDFAST_POSTGRES_BIN",
    "HOLDFAST_POSTGRES_USER",
    "HOLDFAST_TEMPORAL_BIN",
    "HOLDFAST_TEMPORAL_DYNAMIC",
    "HOLDFAST_START_SECONDS",
)
_LOOPBACK: Final = "127.0.0.1,localhost"
_SCRIPTS: Final = TypeAdapter(dict[str, Script])


class Stage(Value):
    """The paths of one demo. `settings` are those of its stack and of every command in it."""

    settings: Settings
    folder: Path

    @classmethod
    def beside(cls, user: Settings, now: datetime) -> Self:
        """A stage beside the user's own home, which it does not touch; programs are shared."""
        root = root_of(user)
        folder = root / "plays" / f"{now:%Y%m%d-%H%M%S}"
        environment = _environment(user, root, folder)
        return cls(settings=Settings.read(environment), folder=folder)

    @property
    def repository(self) -> Path:
        return self.folder / "slugs"

    @property
    def requests(self) -> Path:
        """The model server's ledger."""
        return self.folder / "model.jsonl"

    @property
    def effects(self) -> Path:
        """The ledger that the command itself writes."""
        return self.folder / "effects.jsonl"

    @property
    def script(self) -> Path:
        return self.folder / "script.json"

    @property
    def port(self) -> Path:
        return self.folder / "model.port"

    @property
    def hold(self) -> Path:
        """While it is not there, the third answer of the model stays half said."""
        return self.folder / "hold"

    @property
    def held(self) -> Path:
        """Made by the model server when it has come so far."""
        return self.folder / "hold.reached"

    @property
    def gate(self) -> Path:
        """While it is not there, the command of the task waits."""
        return self.folder / "gate"

    def make(self) -> Script:
        """Write the project, the command's ledger program and the model's script, which it returns."""
        script = task.script(self.hold)
        for name, text in task.FILES.items():
            _write(self.repository / name, text)
        _write(self.script, _SCRIPTS.dump_json({DEFAULT: script}).decode())
        _write(self.folder / "bin" / "effect", self._effect()).chmod(0o755)
        return script

    def configure(self, url: str) -> None:
        """Write the user's side of the configuration: the provider, its address and its prices."""
        model = {"name": "Scripted", "cost": task.PRICES, "limit": {"context": 200_000, "output": 8_000}}
        options = {"baseURL": url, "apiKey": "the-scripted-model-needs-none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": model}}
        config = {"model": task.MODEL, "provider": {"demo": provider}}
        _write(self.settings.config / "opencode.json", json.dumps(config, indent=2))

    def _effect(self) -> str:
        program = (sys.executable, "-I", str(effect.__file__), str(self.effects), str(self.gate))
        return f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n'


def root_of(user: Settings) -> Path:
    """The directory of all demos of this user."""
    return user.home.with_name(f"{user.home.name}-demo")


def _environment(user: Settings, root: Path, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in user.environment.items() if name in _KEPT or not name.startswith(_USERS)}
    return kept | {
        "HOLDFAST_HOME": str(root / "stack"),
        "HOLDFAST_CACHE": str(user.cache),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PATH": f"{folder / 'bin'}:{kept.get('PATH', '')}",
        "NO_PROXY": _LOOPBACK,
        "no_proxy": _LOOPBACK,
    }


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    return path
