"""What must not be seen elsewhere: the secrets that a process may know of."""

from collections.abc import Iterator
from contextlib import suppress

from activities.model.keys import Keys
from activities.redact import Redactor
from worker.handover import HandedOver
from worker.settings import Settings
from workflows.domain.errors import UsageError


def redactor(settings: Settings) -> Redactor:
    """What keeps all secrets out that this process may know of: of its environment, handed over, and of logins."""
    handed_over, keys = HandedOver(settings), Keys(settings.auth)

    def values() -> Iterator[str]:
        yield from settings.secrets()
        with suppress(UsageError):  # a damaged file holds no key that could have been used
            yield from handed_over.given().values()
            yield from keys.values()

    return Redactor(values)
