"""Patience: how long failures of a provider are waited out, and what is said when it ends."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from temporalio.exceptions import ApplicationError

from activities.model.failures import INITIAL_DELAY, Stop, StopKind
from activities.store.generations import Begun

TRIES: Final = 3  # connections to an address that has never answered
BROKEN: Final = 5  # answers of one step that began and did not end: each of them is paid

_WORDS: Final = {
    StopKind.AUTH: "rejected the API key",
    StopKind.QUOTA: "out of credit",
    StopKind.NOT_FOUND: "no such model",
    StopKind.CONTENT: "refused the content",
    StopKind.BAD_REQUEST: "refused the request",
    StopKind.UNSENT: "the request could not be sent",
}


@dataclass(frozen=True)
class Patience:
    """How failures of a provider are waited out, in seconds: `total` in all, in one step; `first` is the shortest
    pause where the provider does not say when to come back."""

    total: float
    first: float = INITIAL_DELAY


def asked_again(why: str, seconds: float) -> ApplicationError:
    """What has the engine start the next attempt after so many seconds."""
    return ApplicationError(why, type="ProviderFailed", next_retry_delay=timedelta(seconds=seconds))


def out_of_patience(begun: Begun, spent: float, pause: float, reason: str) -> str:
    """What is said when a provider's failures have been, or would have to be, waited out for too long."""
    model, failed = begun.standing.model, int(begun.waited_ms / 1000 + spent)
    if begun.failures == 0:
        return f"{model} asks for a pause of {timedelta(seconds=int(pause))}, which is too long to wait: {reason}"
    return f"{model} has failed {begun.failures + 1} times in {timedelta(seconds=failed)}, the last time: {reason}"


def broken_off(begun: Begun, answers: int, reason: str) -> str:
    """What is said when so many answers of a step were begun, and paid, and none came to its end."""
    return f"{begun.standing.model} began {answers} answers and finished none, the last time: {reason}"


def never_answered(provider: str, address: str | None, cause: str) -> str:
    """What is said of an address that no connection has ever come about with; a password in it is left out."""
    where = f" at {without_password(address)}" if address else ""
    return f"{provider}{where} does not answer ({cause}): see provider.{provider}.options.baseURL in opencode.json."


def without_password(address: str) -> str:
    """An address as people may see it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def refused(model: str, stop: Stop, status: int | None) -> str:
    """What is said of a refusal that asking again does not mend."""
    numbered = f" ({status})" if status is not None else ""
    return f"{model}: {_WORDS[stop.kind]}{numbered}: {stop.message}"
