"""Patience: how long failures of a provider are waited out, and what is said when it ends."""

from dataclasses import dataclass
from datetime import timedelta

from temporalio.exceptions import ApplicationError

from activities.model.failures import INITIAL_DELAY
from activities.store.generations import Begun


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
