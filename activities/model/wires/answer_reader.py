"""Reads an answer's events in any protocol; detects malformed events and missing ends."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from decimal import Decimal, DecimalException
from typing import Any, Final

from activities.model.failures import BROKEN_OFF, from_reported, object_message, reported_error
from activities.model.port import Finish, Finished, PartDelta, ToolCallDelta
from activities.model.request_json import JsonDict
from workflows.domain.errors import ModelError
from workflows.domain.provider_failure import ProviderFailure
from workflows.domain.usage import ReportedUsage, Terms, normalize_usage

MAX_ANSWER_CHARS: Final = 16_000_000  # characters of an answer: only a broken model writes more
_EXPLAINED: Final = (Finish.CONTENT_FILTER, Finish.PAUSE, Finish.UNKNOWN)
_MOST_TOKENS: Final = 10**12
_MAX_PLAUSIBLE_COST: Final = 10_000  # US dollars: upper bound of a believable answer
_TICKS: Final = 10**10  # of xAI's, in a dollar
_MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError)


class AnswerReader(ABC):
    """Takes each event of a stream; `finish_reason` and `usage` are the provider's, so far.

    `explanation` as in `Finished`. `ended`: the protocol's last event has come.
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.finish_reason: Finish | None = None
        self.explanation = ""
        self.ended = False
        self.usage: Any = None  # in the protocol's form; many say it with each piece
        self._length = 0

    @abstractmethod
    def events(self, event: Any) -> Iterable[PartDelta]:
        """What an event of the protocol adds; any exception means malformed. An answer has thousands of events: no
        generator within a generator for most of them."""

    @abstractmethod
    def reported_usage(self, usage: Any) -> ReportedUsage:
        """The counts of `usage`; any exception means another form."""

    @property
    def begun(self) -> bool:
        """Whether anything of the answer has come."""
        return self._length > 0

    def read(self, events: Iterable[Any]) -> tuple[list[PartDelta], ModelError | None]:
        """What these events add, up to the answer's end or to a failure, such as a malformed event."""
        added: list[PartDelta] = []
        try:
            self._read(events, added)
        except ModelError as failure:
            return added, failure
        return added, None

    def _read(self, events: Iterable[Any], added: list[PartDelta]) -> None:
        for event in events:
            try:
                for each in self.events(event):
                    added.append(each)
                    self._length += len(each.arguments) + 1 if isinstance(each, ToolCallDelta) else len(each.text)
            except _MALFORMED as error:
                message = f"The provider sent something that is not part of an answer ({error})"
                raise self.failure(message, retryable=True, begun=True, quote=repr(event)) from error
            if self._length > MAX_ANSWER_CHARS:
                raise self.failure(
                    f"The provider sent more than {MAX_ANSWER_CHARS:,} characters as one answer.", retryable=False
                )
            if self.ended:
                return

    def end(self) -> Iterable[PartDelta]:
        """What is left of an answer whose stream says that it is whole, without a finish reason."""
        return ()

    def end_as(self, finish: Finish, *words: Any) -> None:
        """Set the answer's end, which the provider names and explains in these words."""
        self.finish_reason = finish
        if finish in _EXPLAINED:
            self.explanation = ": ".join(word for word in words if isinstance(word, str) and word)

    def finish(self) -> Finished:
        """The end of the answer. Raises ModelError for a stream that stopped before."""
        if self.finish_reason is not None:
            counted = self._counted()
            cost = _reported_cost(self.usage) if isinstance(self.usage, dict) else None
            return Finished(self.finish_reason, normalize_usage(counted), cost, self.explanation, counted.terms)
        raise self.broken_off()

    def _counted(self) -> ReportedUsage:
        """Impossible counts, and those of another form, become 0: they are not worth losing an answer."""
        try:
            counts = self.reported_usage(self.usage) if self.usage else ReportedUsage()
        except _MALFORMED:
            return ReportedUsage()
        found = (count for count in dict(counts).values() if count is not None and not isinstance(count, Terms))
        return counts if all(0 <= count < _MOST_TOKENS for count in found) else ReportedUsage()

    def broken_off(self) -> ModelError:
        """For a stream that ended before its answer."""
        message = BROKEN_OFF
        if not self._length:
            message = "The provider answered nothing: its stream ended before anything of an answer had come."
        return self.failure(message, retryable=True)

    def failure(self, message: str, *, retryable: bool, **more: Any) -> ModelError:
        """`more`: members of `ProviderFailure`."""
        return ModelError(ProviderFailure(provider=self.provider, message=message, retryable=retryable, **more))

    def raise_reported(self, event: JsonDict, *members: str) -> None:
        """Raises ModelError for an event that reports an error.

        `members`: an answer's event has one of these. One that has none of them, but a message, is an error too.
        """
        error = reported_error(event) if "error" in event or "base_resp" in event else None
        if not error and event.keys().isdisjoint(members) and object_message(event):
            error = event
        if error:
            raise self.reported_failure(error)

    def reported_failure(self, error: Any) -> ModelError:
        """For the error in an event."""
        return ModelError(from_reported(self.provider, error))


def require_text(value: Any) -> str | None:
    """Text, or None: nothing else is a part of an answer."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} where text should be")


def arguments_text(arguments: Any) -> str:
    """A call's whole arguments as JSON: an object, or its text already, as some servers send it."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def first_choice(choices: Any) -> JsonDict | None:
    """The choice with the lowest index, in any position: we ask for only one. Some events have none."""
    for choice in choices or ():
        if not choice.get("index"):
            found: JsonDict = choice
            return found
    return None


def _reported_cost(usage: JsonDict) -> Decimal | None:
    """The US dollars that a gateway or provider says it took. OpenRouter's 0 is one; others have that for unknown.

    With the person's own key for the company behind it (`is_byok`), a gateway takes only its fee: the company's part is
    beside it, or what it took is not known.
    """
    cost, details, ticks = usage.get("cost"), usage.get("cost_details"), usage.get("cost_in_usd_ticks")
    own_key = usage.get("is_byok")
    try:
        if isinstance(cost, dict):  # Perplexity
            cost = cost.get("total_cost")
        dollars = Decimal(str(cost)) if cost is not None else Decimal(str(ticks)) / _TICKS
        if own_key:
            dollars += Decimal(str((details or {}).get("upstream_inference_cost")))
        known = 0 < dollars < _MAX_PLAUSIBLE_COST or (dollars == 0 and own_key is False)
    except (AttributeError, DecimalException, ValueError):  # no number
        return None
    return dollars if known else None
