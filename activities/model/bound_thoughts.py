"""Thoughts that are bound to their prefix: the instructions, the tools and the messages before them.

Some providers take a thought back only after just what it was given after, and refuse anything else, at every request
again (Anthropic, "Prefix checks on thinking blocks"). So an answer is stored with the digest of its prefix, without
thoughts. Those of the answers up to the newest one whose prefix is another by now are not sent again. The answers after
that were asked for without them, too: each thought that is sent follows just the thoughts that it was given after.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from activities.model.claude_thoughts import remove_thoughts
from activities.model.port import AssistantInput, InputMessage, SystemInput
from activities.model.request_digest import json_line
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage, Entry, ReasoningPart
from workflows.domain.tool_offer import ToolOffer

# How the wires write what the digest is of: raise it when they write older messages or tools otherwise
RENDERING: Final = 1
REFUSED: Final = ""  # in place of an answer's prefix: the provider has refused the thoughts before it
_LENGTH: Final = 16  # hexadecimal digits

Entries: TypeAlias = Iterable[tuple[Entry, tuple[InputMessage, ...]]]  # of a conversation, with their messages


class BoundRequest(NamedTuple):
    """`prefix`: of the answer to come, as a digest. `thoughtless`: the answers up to this one have no thoughts here."""

    messages: tuple[InputMessage, ...]
    prefix: str
    thoughtless: MessageId | None


class ThoughtBinding:
    """What one model's thoughts in one conversation are bound to; hashes only what the request before did not have."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._tools: tuple[ToolOffer, ...] | None = None
        self._messages: tuple[InputMessage, ...] = ()
        self._state = sha256()  # after them
        self._before: dict[int, str] = {}  # digests of what is before the answers, by their positions
        self._thoughtless: MessageId | None = None

    def bind(self, system: str, tools: tuple[ToolOffer, ...], convert: Callable[..., Entries]) -> BoundRequest:
        """The request's messages. `convert`: as `convert_entries`, but for `thoughtless`."""
        entries = list(convert(thoughtless=self._thoughtless))
        messages = join_entries(system, entries)
        self._digest(tools, messages)
        changed = list(self._changed(entries))
        newest = changed[-1] if changed else None
        if newest != self._thoughtless:
            self._thoughtless = newest
            messages = join_entries(system, convert(thoughtless=newest))
        return BoundRequest(messages, self._digest(tools, messages), newest)

    def _changed(self, entries: Entries) -> Iterator[MessageId]:
        """The model's answers whose prefix is not, or may not be, what they were asked for with."""
        position = 1  # behind the instructions
        for entry, messages in entries:
            if messages and isinstance(entry, AssistantMessage) and entry.body.model == self._model:
                known = entry.body.prefix
                thinks = any(isinstance(part, ReasoningPart) for part in entry.parts)
                if thinks if known is None else known != self._before[position]:
                    yield entry.id
            position += len(messages)

    def _digest(self, tools: tuple[ToolOffer, ...], messages: tuple[InputMessage, ...]) -> str:
        known = len(self._messages)
        if tools != self._tools or messages[:known] != self._messages:
            offers = [offer.model_dump() for offer in tools]
            known, self._tools, self._before = 0, tools, {}
            self._state = sha256(json_line({"rendering": RENDERING, "tools": offers}))
        for position, message in enumerate(messages[known:], known):
            if isinstance(message, AssistantInput):
                self._before[position] = self._state.hexdigest()[:_LENGTH]
                message = remove_thoughts(message)
            self._state.update(json_line(message.model_dump()))
        self._messages = messages
        return self._state.hexdigest()[:_LENGTH]


def join_entries(system: str, entries: Entries) -> tuple[InputMessage, ...]:
    """The messages of a request."""
    return SystemInput(content=system), *(message for _, messages in entries for message in messages)


def newest_answer(entries: Sequence[Entry], model: str, *, refused: bool) -> MessageId | None:
    """The model's newest answer; `refused`: of those that were asked for without the refused thoughts before them."""
    own = (each for each in reversed(entries) if isinstance(each, AssistantMessage) and each.body.model == model)
    return next((each.id for each in own if each.body.prefix == REFUSED or not refused), None)
