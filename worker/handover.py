"""Keys on their way from the shell that starts a run to the worker, kept as long as the stack runs (security.md 10).

Names and values stand in a file that only its owner may read; no value enters a log, a history or a database.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from activities.model.providers import PROVIDERS, provider_named
from worker.settings import Settings
from worker.stack import locks, state
from worker.stack.layout import Layout
from workflows.domain.config import references
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError

_KEYS: Final = TypeAdapter(dict[str, str])


class HandedOver(Mapping[str, str]):
    """The environment of a worker, and over it what shells have handed over since; looked up anew each time."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.handover
        self._environment = settings.environment

    def __getitem__(self, name: str) -> str:
        return _read(self._path).get(name) or self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._environment, **_read(self._path)})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def given(self) -> Mapping[str, str]:
        """What was handed over. Raises UsageError when the file is damaged."""
        return _read(self._path)


def names(config: Config, model: str | None) -> frozenset[str]:
    """The variables that may hold a key for this configuration: of the providers, and those that it refers to."""
    found = {variable for provider in PROVIDERS.values() for variable in provider.variables}
    for model_name in (model, config.model, *(agent.model for agent in config.agent.values())):
        if model_name and "/" in model_name:
            found.update(provider_named(model_name.partition("/")[0]).variables)
    return frozenset(found.union(name for kind, name in references.referred(config) if kind == "env"))


def lacking(settings: Settings, config: Config) -> tuple[str, ...]:
    """The references of a configuration that this host's worker cannot look up, as they are written.

    It has the variables that it was started with, and those of the shells that have handed theirs over, as a run from
    here would do. What a worker elsewhere has is not known.
    """
    found = sorted(references.referred(config))
    if not found:
        return ()
    note = state.noted(Layout(home=settings.home).worker)
    elsewhere = note is None and not settings.worker
    variables = {name for name, value in HandedOver(settings).items() if value}.union(note.variables if note else ())

    def missing(kind: references.Kind, name: str) -> bool:
        if kind == "env":
            return name not in variables and not elsewhere
        return kind == "file" and not Path(name).exists()

    return tuple(f"{{{kind}:{name}}}" for kind, name in found if missing(kind, name))


async def hand_over(settings: Settings, wanted: Iterable[str]) -> tuple[str, ...]:
    """Give the worker those of the wanted variables that are set in this shell; returns their names."""
    given = {name: settings.environment[name] for name in sorted(wanted) if settings.environment.get(name)}
    if given.items() <= _read(settings.handover).items():
        return tuple(given)
    settings.handover.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with locks.held(settings.handover.with_suffix(".lock")):
        _write(settings.handover, {**_read(settings.handover), **given})
    return tuple(given)


def forget(settings: Settings) -> None:
    """Remove what was handed over."""
    settings.handover.unlink(missing_ok=True)


def handed_over(settings: Settings) -> tuple[str, ...]:
    """The names of the variables that the worker was given."""
    return tuple(sorted(_read(settings.handover)))


def _read(path: Path) -> dict[str, str]:
    try:
        return _KEYS.validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except ValidationError:
        # nothing of the error is shown: it would quote keys
        raise UsageError(f"{str(path)!r} is damaged: remove it, and start the run again.") from None


def _write(path: Path, keys: Mapping[str, str]) -> None:
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_KEYS.dump_json(dict(keys)))
    draft.replace(path)
