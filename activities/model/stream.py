"""Assembles a streamed answer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from pydantic import JsonValue

from activities.error_boundary import storable_text
from activities.model.port import (
    AnswerPart,
    Finish,
    Finished,
    ModelEvent,
    ReasoningDelta,
    RequestAccepted,
    TextDelta,
    ToolCallDelta,
)
from activities.new_ids import new_id
from workflows.domain.ids import PartId, Prefix
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import STANDARD_TERMS, Price, Terms, Tokens


class PartKind(StrEnum):
    TEXT = "text"
    REASONING = "reasoning"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer, its parts in order of their beginnings, with the ids that their deltas had; `reported_cost`,
    `explanation` as in `Finished`."""

    parts: tuple[AnswerPart, ...]
    finish: Finish
    tokens: Tokens
    reported_cost: Decimal | None = None
    explanation: str = ""
    terms: Terms = STANDARD_TERMS
    ids: tuple[PartId, ...] = field(default=(), compare=False)

    @property
    def calls(self) -> tuple[RequestedCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, RequestedCall))

    def cost(self, price: Price | None) -> Decimal | None:
        """US dollars: as reported by the provider, else the price of its tokens; None if neither is known."""
        if self.reported_cost is not None:
            return self.reported_cost
        if price is None or not (self.tokens.reported or price.free):
            return None
        return price.cost_of(self.tokens, self.terms)


@dataclass(frozen=True, slots=True)
class Delta:
    """An event's addition to a part (None: to none yet); `name` comes with a call's first delta."""

    part: PartId | None
    kind: PartKind
    text: str
    name: str | None = None


@dataclass(slots=True)
class _PartBuilder:
    """An unfinished part, its text in pieces: joining once is linear."""

    part: PartId
    kind: PartKind
    item: int = 0
    phase: str | None = None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    details: list[dict[str, JsonValue]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class AnswerAssembler:
    """Assembles the parts of one answer from its events."""

    def __init__(self) -> None:
        self._parts: list[_PartBuilder] = []
        self._calls: dict[int, int] = {}
        self._finished: Finished | None = None

    @property
    def begun(self) -> bool:
        return bool(self._parts)

    def add(self, event: ModelEvent) -> Delta | None:
        """The event's visible addition, if any."""
        match event:
            case TextDelta(text, item, phase):
                return self._append(PartKind.TEXT, text, item, phase) if text else None
            case ReasoningDelta():
                return self._reasoning(event)
            case ToolCallDelta():
                return self._call(event)
            case Finished():
                self._finished = event
                return None
            case RequestAccepted():
                return None

    def answer(self) -> Answer:
        """The assembled answer. Its finish is the provider's word, which may be "stop" although it calls tools."""
        if self._finished is None:
            raise RuntimeError("the answer is not finished: the port ended without `Finished`")
        end = self._finished
        parts = tuple(self._finish_parts())
        ids = tuple(part.part for part in self._parts)
        return Answer(parts, end.finish, end.tokens, end.reported_cost, end.explanation, end.terms, ids)

    def texts(self) -> tuple[tuple[PartId, TextPart], ...]:
        """The texts of an answer that breaks off: of half a thought or call, nothing can be used."""
        texts = (part for part in self._parts if part.kind is PartKind.TEXT and part.text.strip())
        return tuple((part.part, TextPart(text=part.text, phase=part.phase)) for part in texts)

    def _mint(self) -> PartId:
        """Behind the part before: clients sort parts by their ids."""
        return PartId(new_id(Prefix.PART, after=self._parts[-1].part if self._parts else ""))

    def _append(self, kind: PartKind, text: str, item: int = 0, phase: str | None = None) -> Delta:
        if not self._parts or self._parts[-1].kind is not kind or self._parts[-1].item != item:
            self._parts.append(_PartBuilder(self._mint(), kind, item, phase))
        self._parts[-1].pieces.append(text)
        return Delta(self._parts[-1].part, kind, text)

    def _reasoning(self, event: ReasoningDelta) -> Delta | None:
        if not event.text and event.details is None:
            return None
        delta = self._append(PartKind.REASONING, event.text)
        if event.details is not None:
            self._parts[-1].details.append(event.details)
        return delta

    def _call(self, event: ToolCallDelta) -> Delta:
        position = self._calls.get(event.index)
        if position is None or _begins_another(self._parts[position], event):
            position = self._calls[event.index] = len(self._parts)
            self._parts.append(_PartBuilder(self._mint(), PartKind.CALL))
        call = self._parts[position]
        named = None if call.name else event.name
        call.id = call.id or event.id or ""
        call.name = call.name or event.name or ""
        call.pieces.append(event.arguments)
        return Delta(call.part, PartKind.CALL, event.arguments, named)

    def _finish_parts(self) -> Iterator[AnswerPart]:
        taken: set[str] = set()
        for position, part in enumerate(self._parts):
            match part.kind:
                case PartKind.TEXT:
                    yield TextPart(text=part.text, phase=part.phase)
                case PartKind.REASONING:
                    yield ReasoningPart(text=part.text, details=tuple(part.details))
                case PartKind.CALL:
                    id = _unique(storable_text(part.id) or f"call_{position}", taken)
                    yield RequestedCall(id, part.name, _arguments(part.text))


def _begins_another(call: _PartBuilder, event: ToolCallDelta) -> bool:
    """Some endpoints give every call the index 0: there, a name begins another call, if its id is another.

    Without ids, it does so once the arguments are complete; with one id for all, if both have whole arguments.
    """
    if not (event.name and call.name):
        return False
    if event.id and call.id:
        return event.id != call.id or (_is_json(call.text) and _is_json(event.arguments))
    return bool(event.arguments) and _is_json(call.text)


def _arguments(text: str) -> str:
    """Some servers, as gateways to Bedrock, begin with arguments that are empty, and go on with the real ones."""
    return text.removeprefix("{}") if text.startswith("{}{") else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unique(wanted: str, taken: set[str]) -> str:
    """An id that no other call of the answer has, and that can be sent; the same answer always gets the same ids."""
    candidate, number = wanted, 1
    while candidate in taken:
        number += 1
        candidate = f"{wanted}_{number}"
    taken.add(candidate)
    return candidate
