"""How long to wait out a provider's failures, and the messages when that is over."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.exceptions import ApplicationError

from activities.model.addresses import without_login
from activities.model.failures import INITIAL_DELAY, Stop, StopKind

MAX_CONNECT_ATTEMPTS: Final = 3  # connections to an address that has never answered
MAX_DOUBTFUL_ATTEMPTS: Final = 5  # at what was refused in words that speak of a passing fault
MAX_BROKEN_ANSWERS: Final = 5  # per generation, of answers that began and did not end: each is paid
_LONG_PAUSE: Final = 60.0  # seconds; the engine's pause between two attempts cannot be shortened
_SHORTEST_DELAY: Final = timedelta(milliseconds=1)  # the engine takes 0 for no delay, and follows its policy

_STOP_TEXTS: Final = {
    StopKind.AUTH: "rejected the API key",
    StopKind.QUOTA: "out of credit",
    StopKind.NOT_FOUND: "no such model",
    StopKind.CONTENT: "refused the content",
    StopKind.BAD_REQUEST: "refused the request",
    StopKind.UNSENT: "the request could not be sent",
}


@dataclass(frozen=True)
class RetryBudget:
    """How long failures are waited out, in seconds: `total_seconds` of one generation; `first_pause`: the shortest
    pause if the provider names none.
    """

    total_seconds: float
    first_pause: float = INITIAL_DELAY


class ProviderPause(ApplicationError):
    """Makes the engine start the next attempt after `seconds`, unless the run waits them out."""

    def __init__(self, why: str, seconds: float) -> None:
        delay = max(timedelta(seconds=seconds), _SHORTEST_DELAY)
        super().__init__(why, type="ProviderFailed", next_retry_delay=delay)
        self.seconds = seconds

    @property
    def is_long(self) -> bool:
        return self.seconds > _LONG_PAUSE


def budget_spent_text(model: str, failures: int, waited: float, pause: float, reason: str) -> str:
    """Waiting out a provider's failures has taken, or would take, too long; in seconds."""
    if failures == 1:
        return f"{model} asks for a pause of {timedelta(seconds=int(pause))}, which is too long to wait: {reason}"
    return f"{model} has failed {failures} times in {timedelta(seconds=int(waited))}, the last time: {reason}"


def doubtful_text(model: str, reason: str) -> str:
    """A request that was refused may never succeed."""
    return f"{model} has refused the request {MAX_DOUBTFUL_ATTEMPTS} times, the last time: {reason}"


def broken_answers_text(model: str, answers: int, reason: str) -> str:
    return f"{model} began {answers} answers and finished none, the last time: {reason}"


def unreachable_text(provider: str, address: str | None, cause: str) -> str:
    """The message for an address that was never reached, without a password in it."""
    where = f" at {without_login(address)}" if address else ""
    return f"{provider}{where} does not answer ({cause}): see provider.{provider}.options.baseURL in opencode.json."


def refusal_text(model: str, stop: Stop, status: int | None) -> str:
    numbered = f" ({status})" if status is not None else ""
    return f"{model}: {_STOP_TEXTS[stop.kind]}{numbered}: {stop.message}"
