"""Logins: the tokens of servers that a person has logged in to, in a file only for its owner."""

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic import SecretStr, TypeAdapter, ValidationError

from activities.file_cache import FileCache
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

_LOCK_PAUSE: Final = 0.05  # seconds: a thread that is blocked in flock could not be cancelled


class Login(Value):
    """`ends_at`: seconds since 1970, by what the server said. `token_url`: where it is renewed, `resource`: for what.
    `client` and `client_secret`: registered, or configured."""

    access_token: SecretStr
    refresh_token: SecretStr | None = None
    ends_at: float | None = None
    token_url: str
    resource: str | None = None
    scope: str | None = None
    client: str
    client_secret: SecretStr | None = None
    basic: bool = False


_LOGINS: Final = TypeAdapter(dict[str, Login])


class Logins:
    """A file that only its owner reads. A login is bound to the server's address: another server with its name has
    none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._logins = FileCache(path, self._parse)  # redaction reads it for each text that leaves

    def get(self, url: str) -> Login | None:
        """Raises UsageError for a damaged file."""
        return self._read().get(url)

    def values(self) -> tuple[str, ...]:
        """The secrets, for redaction. Raises UsageError."""
        found = (
            secret
            for login in self._read().values()
            for secret in (login.access_token, login.refresh_token, login.client_secret)
        )
        return tuple(secret.get_secret_value() for secret in found if secret is not None)

    async def set(self, url: str, login: Login | None) -> bool:
        """None removes it; whether there was one."""
        async with self.locked():
            known = dict(self._read())
            before = known.pop(url, None)
            self._write(known if login is None else {**known, url: login})
        return before is not None

    async def renew(self, url: str, seen: Login, renewed: Login) -> None:
        """Under the lock: only if nobody has changed it since it was `seen`."""
        known = dict(self._read())
        if known.get(url) == seen:
            self._write({**known, url: renewed})

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _acquires(descriptor):
                await asyncio.sleep(_LOCK_PAUSE)
            yield
        finally:
            os.close(descriptor)

    def _read(self) -> Mapping[str, Login]:
        return self._logins.get()

    def _parse(self) -> Mapping[str, Login]:
        try:
            return _LOGINS.validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):  # without the error, which would quote tokens
            raise UsageError(f"{str(self.path)!r} cannot be read: remove it, and log in again.") from None

    def _write(self, logins: Mapping[str, Login]) -> None:
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({url: _plain(login) for url, login in logins.items()}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def _acquires(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _plain(login: Login) -> dict[str, object]:
    return {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value
        for name, value in dict(login).items()
        if value is not None
    }
