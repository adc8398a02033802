"""Turns of many steps, as a session sends them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Final

from activities.model.reminders import due_reminders
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.script import Answer, Call, Output, Text, Thought
from tests.providers.prompt_cache import TOKEN
from workflows.domain.ids import GenerationId
from workflows.domain.messages import Outcome, StepReminders
from workflows.domain.usage import Tokens

_STEERED: Final = (0.3, 0.6)  # of a turn's steps: those before which a prompt comes
_MIDNIGHT: Final = 0.4
_CROWDED: Final = 0.5  # the step with many calls
_MARKS: Final = ("cache_control", "cachePoint")
_OF_STEP: Final = ("tool_choice", "toolConfig")  # may change with the last step
_LIST: Final = re.compile(r'"(messages|contents|input)":\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_JSON: Final = json.JSONDecoder()


@dataclass(frozen=True)
class Sizes:
    """`turns`: the steps of each; `prompt`, `answer`, `result` and `thought` in tokens; `calls`: of a turn's one step
    with many. A thought is in each answer but every third."""

    turns: tuple[int, ...] = (100,)
    calls: int = 20
    prompt: int = 4_500
    answer: int = 50
    result: int = 200
    thought: int = 0


@dataclass(frozen=True)
class _Step:
    """`number` counts those of all turns, `of` those of this one."""

    turn: int
    step: int
    of: int
    number: int

    @property
    def last(self) -> bool:
        return self.step == self.of

    def at(self, *shares: float) -> bool:
        return self.step in [round(share * self.of) for share in shares]


async def play_long_turns(talk: Conversation, sizes: Sizes) -> list[Tokens]:
    """What each step was billed. Each turn has steered prompts, the date of another day, a step of many calls, and its
    last step."""
    steps = [*_steps(sizes)]
    talk.wire.play(*(_answer(step, sizes) for step in steps))
    options = talk.wire.thinking if sizes.thought else {}
    billed = []
    for step in steps:
        if step.step == 1:
            talk.prompt(_filler(f"prompt {step.turn}", sizes.prompt))
        if step.at(*_STEERED):
            talk.prompt("Also this.", step=step.step)
        if step.at(_MIDNIGHT):
            talk.transcript.append(_date(talk, step))
        answer = await talk.ask(last_step=step.last, cache_key="ses_1", context=1_000_000, options=options)
        billed.append(answer.tokens)
        talk.settle(Outcome(output=_filler(f"result {step.number}", sizes.result)))
    return billed


def check_extension(received: Sequence[bytes]) -> None:
    """Each request is the one before and more, byte for byte; only the marks of its cache move on."""
    for number, ((before, around), (after, around_after)) in enumerate(pairwise(map(_cut, received)), start=2):
        assert len(before) <= len(after), f"request {number} leaves a message out"
        changed = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
        for one, other in changed:
            assert _marked(one) or _marked(other), f"request {number} changes an earlier message"
            assert _unmarked(json.loads(one)) == _unmarked(json.loads(other)), f"request {number} changes a marked one"
        if around != around_after:
            assert _chosen(around) != _chosen(around_after), f"request {number} changes what is around the messages"
            assert _others(around) == _others(around_after), f"request {number} changes more than the choice of tools"


def least_cached_share(billed: list[Tokens]) -> float:
    """How much of what the step before had sent was read from the cache, in the step with the least."""
    return min(after.cache_read / before.prompt for before, after in pairwise(billed))


def _steps(sizes: Sizes) -> Iterator[_Step]:
    number = 0
    for turn, of in enumerate(sizes.turns, 1):
        for step in range(1, of + 1):
            number += 1
            yield _Step(turn, step, of, number)


def _answer(step: _Step, sizes: Sizes) -> Answer:
    thinks = sizes.thought and step.step % 3
    thought: list[Output] = [Thought(_filler(f"thought {step.number}", sizes.thought))] if thinks else []
    if step.last:
        return Answer((*thought, Text(f"Done: {step.turn}.")))
    numbers = range(sizes.calls if step.at(_CROWDED) else 1)
    calls = [Call("read", f'{{"path": "{step.number}.{number}"}}') for number in numbers]
    return Answer((*thought, Text(_filler(f"answer {step.number}", sizes.answer)), *calls))


def _date(talk: Conversation, step: _Step) -> StepReminders:
    reminders = due_reminders((), date(2026, 2, step.turn))
    return StepReminders(id=GenerationId(f"gen_{step.number}"), turn=talk.turn, step=step.step, reminders=reminders)


def _filler(name: str, tokens: int) -> str:
    return f"{name}: ".ljust(tokens * TOKEN, "x")


def _cut(body: bytes) -> tuple[list[bytes], bytes]:
    """A request's messages as they were sent, and what is around them."""
    text = body.decode("latin-1")  # a character for each byte
    if (begin := _LIST.search(text)) is None:
        raise ValueError("a request without messages")
    messages, place = [], begin.end()
    while text[place] != "]":
        _, end = _JSON.raw_decode(text, place)
        messages.append(body[place:end])
        if (between := _BETWEEN.match(text, end)) is not None:
            place = between.end()
    return messages, body[: begin.end()] + body[place:]


def _marked(message: bytes) -> bool:
    return any(mark.encode() in message for mark in _MARKS)


def _chosen(around: bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(around).items() if name in _OF_STEP}


def _others(around: bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(around).items() if name not in _OF_STEP}


def _unmarked(value: Any) -> Any:
    """Without marks; a list that is only there for a mark is its text."""
    match value:
        case [{"type": "text", "text": str(text), **others}] if set(others) <= {*_MARKS}:
            return text
        case list():
            return [_unmarked(inner) for inner in value if not (isinstance(inner, dict) and set(inner) <= {*_MARKS})]
        case dict():
            return {name: _unmarked(inner) for name, inner in value.items() if name not in _MARKS}
    return value
