"""A turn of many steps, as a session sends it."""

from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Final

from activities.model.reminders import due_reminders
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.script import Answer, Call, Text
from tests.providers.prompt_cache import TOKEN
from workflows.domain.ids import GenerationId, TurnId
from workflows.domain.messages import Outcome, StepReminders
from workflows.domain.usage import Tokens

STEERED: Final = (30, 60)  # steps before which a prompt comes
MIDNIGHT: Final = 40
CROWDED: Final = 50  # the step with many calls
_MARKS: Final = ("cache_control", "cachePoint")
_OF_STEP: Final = ("tool_choice", "toolConfig")  # may change with the last step
_LISTS: Final = ("messages", "contents", "input")


@dataclass(frozen=True)
class Sizes:
    """`prompt`, `answer` and `result` in tokens; `calls`: of the one step with many."""

    steps: int = 100
    calls: int = 20
    prompt: int = 4_500
    answer: int = 50
    result: int = 200


async def play_long_turn(talk: Conversation, sizes: Sizes) -> list[Tokens]:
    """What each step was billed: steered prompts, the date of another day, a step of many calls, the last step."""
    talk.wire.play(*(_answer(step, sizes) for step in range(1, sizes.steps)), Answer((Text("Done."),)))
    talk.prompt(_filler("prompt", sizes.prompt))
    billed = []
    for step in range(1, sizes.steps + 1):
        if step in STEERED:
            talk.prompt("Also this.", step=step)
        if step == MIDNIGHT:
            talk.transcript.append(_date(step))
        answer = await talk.ask(last_step=step == sizes.steps, cache_key="ses_1", context=1_000_000)
        billed.append(answer.tokens)
        talk.settle(Outcome(output=_filler(f"result {step}", sizes.result)))
    return billed


def check_extension(asked: list[dict[str, Any]]) -> None:
    """Each request is the one before and more, but for the marks of its cache."""
    (name,) = [name for name in _LISTS if name in asked[0]]
    plain = [_unmarked({key: value for key, value in body.items() if key not in _OF_STEP}) for body in asked]
    for number, (before, after) in enumerate(pairwise(plain), start=2):
        assert after[name][: len(before[name])] == before[name], f"request {number} changes an earlier message"
        assert {**after, name: []} == {**before, name: []}, f"request {number} changes what is before the messages"


def least_cached_share(billed: list[Tokens]) -> float:
    """How much of what the step before had sent was read from the cache, in the step with the least."""
    return min(after.cache_read / before.prompt for before, after in pairwise(billed))


def _answer(step: int, sizes: Sizes) -> Answer:
    calls = [Call("read", f'{{"path": "{step}.{number}"}}') for number in range(sizes.calls if step == CROWDED else 1)]
    return Answer((Text(_filler(f"answer {step}", sizes.answer)), *calls))


def _date(step: int) -> StepReminders:
    reminders = due_reminders((), date(2026, 2, 1), text_only=False)
    return StepReminders(id=GenerationId(f"gen_{step}"), turn=TurnId("trn_1"), step=step, reminders=reminders)


def _filler(name: str, tokens: int) -> str:
    return f"{name}: ".ljust(tokens * TOKEN, "x")


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
