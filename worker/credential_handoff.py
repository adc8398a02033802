"""Hands keys from a shell to the worker while the stack runs (security.md 10).

In a file that only its owner may read; values never enter a log, history or database.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from activities.file_cache import FileCache
from activities.model.providers import AWS_SIGN_IN, PROVIDERS, SETTINGS, provider_named
from worker.settings import Settings
from worker.stack import locks, state_file
from worker.stack.layout import Layout
from workflows.domain.config import references
from workflows.domain.config.config import EXA, Config
from workflows.domain.errors import UsageError

_CREDENTIALS: Final = TypeAdapter(dict[str, str])


class CredentialEnvironment(Mapping[str, str]):
    """The worker's environment under the handed-over keys, as they are now."""

    def __init__(self, settings: Settings) -> None:
        self._handed = FileCache(settings.credentials_file, partial(_read, settings.credentials_file))
        self._environment = settings.environment

    def __getitem__(self, name: str) -> str:
        return _over(self._environment, self._handed.get())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_over(self._environment, self._handed.get()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def credentials(self) -> Mapping[str, str]:
        """The keys. Raises UsageError if the file is damaged."""
        return {name: value for name, value in self._handed.get().items() if name not in SETTINGS}


def credential_variables(config: Config, model: str | None) -> frozenset[str]:
    """Variables that may hold this configuration's keys, or settings of providers, and those that it references."""
    found = {variable for provider in PROVIDERS.values() for variable in (*provider.variables, *provider.settings)}
    agents = (agent.model for agent in config.agent.values())
    for model_name in (model, config.model, config.small_model, config.holdfast.larger_model, *agents):
        if model_name and "/" in model_name:
            provider = provider_named(model_name.partition("/")[0])
            found.update(provider.variables, provider.signing)
    if config.holdfast.web.search == EXA:
        found.update(provider_named(EXA).variables)
    return frozenset(found.union(name for kind, name in references.used_references(config) if kind == "env"))


def missing_references(settings: Settings, config: Config) -> tuple[str, ...]:
    """A configuration's references, as written, that this host's worker cannot resolve."""
    found = sorted(references.used_references(config))
    if not found:
        return ()
    elsewhere = keys_are_elsewhere(settings)
    variables = {name for name, value in CredentialEnvironment(settings).items() if value} | worker_variables(settings)

    def missing(kind: references.ReferenceKind, name: str) -> bool:
        if kind == "env":
            return name not in variables and not elsewhere
        return kind == "file" and not Path(name).exists()

    return tuple(f"{{{kind}:{name}}}" for kind, name in found if missing(kind, name))


def keys_are_elsewhere(settings: Settings) -> bool:
    """Whether workers on other machines have the keys."""
    return not settings.worker and state_file.read_worker_note(Layout(home=settings.home).worker) is None


def worker_variables(settings: Settings) -> frozenset[str]:
    """The names of the variables that this host's worker was started with."""
    note = state_file.read_worker_note(Layout(home=settings.home).worker)
    return frozenset(note.variables if note else ())


async def hand_off(settings: Settings, wanted: Iterable[str]) -> tuple[str, ...]:
    """Give the worker the wanted variables set here; returns their names. Raises UsageError for what is no text."""
    given = {name: settings.environment[name] for name in sorted(wanted) if settings.environment.get(name)}
    for name, value in given.items():
        if any("\ud800" <= each <= "\udfff" for each in value):
            raise UsageError(f"The value of {name} is no UTF-8 text: set it anew, or unset it.")
    known = _read(settings.credentials_file)
    if _over(known, given) == known:
        return tuple(given)
    settings.credentials_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with locks.hold(settings.credentials_file.with_suffix(".lock")):
        credentials = _over(_read(settings.credentials_file), given)
        state_file.write_private(settings.credentials_file, _CREDENTIALS.dump_json(credentials))
    return tuple(given)


def remove_credentials(settings: Settings) -> None:
    settings.credentials_file.unlink(missing_ok=True)


def handed_off_names(settings: Settings) -> tuple[str, ...]:
    return tuple(sorted(_read(settings.credentials_file)))


def _over(variables: Mapping[str, str], newer: Mapping[str, str]) -> dict[str, str]:
    """The variables under newer ones. A sign-in to AWS is replaced as a whole."""
    replaced = AWS_SIGN_IN if AWS_SIGN_IN & newer.keys() else frozenset()
    return {**{name: value for name, value in variables.items() if name not in replaced}, **newer}


def _read(path: Path) -> dict[str, str]:
    try:
        return _CREDENTIALS.validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except ValidationError:
        # hide the error: it would quote keys
        raise UsageError(f"{str(path)!r} is damaged: remove it, and start the run again.") from None
