"""The file of keys, which only its owner can read."""

import fcntl
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from pydantic import SecretStr, TypeAdapter, ValidationError

from activities.file_cache import FileCache
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class StoredKey(Value):
    """An entry of the file, in OpenCode's form."""

    type: Literal["api"] = "api"
    key: SecretStr


_entries = TypeAdapter(dict[str, StoredKey])
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,40}")


class Keys:
    """The keys of `holdfast auth login`, in a file with mode 0600.

    An entry is a provider's, or "provider/name" where it has several.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries = FileCache(path, self._parse)  # redaction reads it for each text that leaves

    def list(self) -> tuple[str, ...]:
        """The providers with a key."""
        return tuple(sorted({entry.partition("/")[0] for entry in self._read()}))

    def entries(self) -> tuple[tuple[str, str | None], ...]:
        """Provider and name of each key; most have no name."""
        parts = (entry.partition("/") for entry in sorted(self._read()))
        return tuple((provider, name or None) for provider, _, name in parts)

    def values(self) -> tuple[str, ...]:
        """The keys, for redaction. Raises UsageError."""
        return tuple(entry.key.get_secret_value() for entry in self._read().values())

    def get(self, provider: str, name: str | None = None) -> SecretStr | None:
        entry = self._read().get(_entry(provider, name))
        return entry.key if entry else None

    def set(self, provider: str, key: str, name: str | None = None) -> None:
        """Raises UsageError for a name that is none."""
        with self._locked():
            self._write({**self._read(), _entry(provider, name): StoredKey(key=SecretStr(key))})

    def remove(self, provider: str, name: str | None = None) -> bool:
        """Returns whether there was one. Raises UsageError for a name that is none."""
        with self._locked():
            entries = dict(self._read())
            known = entries.pop(_entry(provider, name), None) is not None
            if known:
                self._write(entries)
        return known

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One program at a time reads and writes. The lock is the folder's, so that no further file is left."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self) -> Mapping[str, StoredKey]:
        """Raises UsageError when others may read the file, or it is damaged."""
        return self._entries.get()

    def _parse(self) -> Mapping[str, StoredKey]:
        try:
            # A pipe would block every redaction: O_NONBLOCK opens it at once.
            with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                if stat.S_IMODE(mode) & 0o077:
                    raise UsageError(
                        f"Others can read the keys in {str(self.path)!r} (mode {stat.S_IMODE(mode):04o}): chmod 600 it."
                    )
                if not stat.S_ISREG(mode):
                    raise UsageError(f"{str(self.path)!r} is not a regular file: remove it, and log in again.")
                return _entries.validate_json(file.read())
        except FileNotFoundError:
            return {}
        except ValidationError:
            # without the error, which would quote keys
            raise UsageError(f"{str(self.path)!r} is damaged: remove it, and log in again.") from None

    def _write(self, entries: Mapping[str, StoredKey]) -> None:
        plain = {name: {"type": entry.type, "key": entry.key.get_secret_value()} for name, entry in entries.items()}
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def _entry(provider: str, name: str | None) -> str:
    if name is None:
        return provider
    if not _NAME.fullmatch(name):
        raise UsageError("A key's name may hold letters, digits, dots and dashes, 40 at most.")
    return f"{provider}/{name}"
