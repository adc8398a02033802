"""Reads the events of one answer, whatever the protocol: what is no event, what is too long, and what has no end."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from activities.model.failures import ModelError, ProviderFailure, from_stream
from activities.model.port import Finish, Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from workflows.domain.usage import ReportedUsage, Tokens, measure

LONGEST: Final = 16_000_000  # characters of an answer: no model says so much, but a broken one may go on for ever
_MOST_TOKENS: Final = 10**12


class Reader(ABC):
    """Takes each event of a stream; `end`, `tokens` and `charged` are what the provider has said of them so far."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.end: Finish | None = None
        self.tokens = Tokens()
        self.charged: Decimal | None = None
        self._length = 0

    @abstractmethod
    def events(self, event: Any) -> Iterator[ModelEvent]:
        """What an event of the protocol adds; whatever it raises means that it is none."""

    def read(self, event: Any) -> list[ModelEvent]:
        """The same; raises ModelError for what is no event, and for an answer that does not end."""
        try:
            added = list(self.events(event))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            said = f"The provider sent something that is no piece of an answer ({error})"
            raise self.failure(said, retryable=True, begun=True, quote=repr(event)) from error
        self._length += sum(map(_length, added))
        if self._length > LONGEST:
            raise self.failure(f"The provider sent more than {LONGEST:,} characters as one answer.", retryable=False)
        return added

    def finished(self) -> Finished:
        """The end of the answer. Raises ModelError for a stream that has just stopped somewhere on its way."""
        if self.end is not None:
            return Finished(self.end, self.tokens, self.charged)
        said = "The answer broke off: the stream ended without a finish reason."
        if not self._length:
            said = "The provider answered nothing: its stream ended before anything of an answer had come."
        raise self.failure(said, retryable=True)

    def failure(self, said: str, *, retryable: bool, **more: Any) -> ModelError:
        """`more` are members of `ProviderFailure`."""
        return ModelError(ProviderFailure(provider=self.provider, message=said, retryable=retryable, **more))

    def reported(self, error: Any) -> ModelError:
        """For an event that tells an error."""
        failure = from_stream(self.provider, {"type": "error", "error": error})
        return ModelError(failure) if failure else self.failure(str(error), retryable=True)


def counted(usage: ReportedUsage) -> Tokens:
    """What an answer has used; a count that cannot be true is none, and no reason to lose an answer."""
    counts = [count for count in dict(usage).values() if count is not None]
    return measure(usage) if all(0 <= count < _MOST_TOKENS for count in counts) else Tokens()


def text(value: Any) -> str | None:
    """Text, or None: nothing else is a part of an answer."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} where text should be")


def _length(event: ModelEvent) -> int:
    match event:
        case TextDelta(said) | ReasoningDelta(said):
            return len(said)
        case ToolCallDelta(arguments=arguments):
            return len(arguments) + 1
        case _:
            return 0
