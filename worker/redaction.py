"""The secrets that a process may know, to be kept out of view."""

from collections.abc import Iterator
from contextlib import suppress

from activities.credentials.keys import Keys
from activities.credentials.logins import Logins
from activities.redact import Redactor
from worker.credential_handoff import CredentialEnvironment
from worker.settings import Settings
from workflows.domain.errors import UsageError


def redactor(settings: Settings) -> Redactor:
    """Redacts this process's secrets: of its environment, handed over, of logins."""
    environment, keys, logins = CredentialEnvironment(settings), Keys(settings.auth), Logins(settings.mcp_logins)

    def values() -> Iterator[str]:
        yield from settings.secrets()
        with suppress(UsageError):  # a damaged file held no usable key
            yield from environment.credentials().values()
            yield from keys.values()
        with suppress(UsageError):
            yield from logins.values()

    return Redactor(values)
