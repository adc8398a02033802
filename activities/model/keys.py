"""Keys of model providers: a file only for its owner, and the order of look-up."""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import SecretStr, TypeAdapter, ValidationError

from activities.model.headers import header_value
from activities.model.providers import KnownProvider
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class StoredKey(Value):
    """An entry of the file, in OpenCode's form."""

    type: Literal["api"] = "api"
    key: SecretStr


_entries = TypeAdapter(dict[str, StoredKey])


class Keys:
    """The keys of `holdfast auth login`, by provider, in a file with mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def list(self) -> tuple[str, ...]:
        return tuple(sorted(self._read()))

    def values(self) -> tuple[str, ...]:
        """The keys, for redaction. Raises UsageError."""
        return tuple(entry.key.get_secret_value() for entry in self._read().values())

    def get(self, provider: str) -> SecretStr | None:
        entry = self._read().get(provider)
        return entry.key if entry else None

    def set(self, provider: str, key: str) -> None:
        self._write({**self._read(), provider: StoredKey(key=SecretStr(key))})

    def remove(self, provider: str) -> bool:
        """Returns whether there was one."""
        entries = self._read()
        known = entries.pop(provider, None) is not None
        if known:
            self._write(entries)
        return known

    def _read(self) -> dict[str, StoredKey]:
        """Raises UsageError when others may read the file, or it is damaged."""
        try:
            with self.path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if mode & 0o077:
                    raise UsageError(f"Others can read the keys in {str(self.path)!r} (mode {mode:04o}): chmod 600 it.")
                return _entries.validate_json(file.read())
        except FileNotFoundError:
            return {}
        except ValidationError:
            # without the error, which would quote keys
            raise UsageError(f"{str(self.path)!r} is damaged: remove it, and log in again.") from None

    def _write(self, entries: Mapping[str, StoredKey]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        plain = {name: {"type": entry.type, "key": entry.key.get_secret_value()} for name, entry in entries.items()}
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def find_key(
    provider: KnownProvider, configured: str | None, keys: Keys, environment: Mapping[str, str]
) -> SecretStr | None:
    """A provider's key: from its configuration (references resolved), the file, or its variables.

    Raises UsageError for one that cannot be sent; it names the source only.
    """
    for origin, written in _key_candidates(provider, configured, keys, environment):
        if written and (key := header_value(origin, written)):
            return SecretStr(key)
    return None


def _key_candidates(
    provider: KnownProvider, configured: str | None, keys: Keys, environment: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    yield f"provider.{provider.id}.options.apiKey", configured
    stored = keys.get(provider.id)
    yield f"The key of `holdfast auth login {provider.id}`", stored.get_secret_value() if stored else None
    for variable in provider.variables:
        yield variable, environment.get(variable)
