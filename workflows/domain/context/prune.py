"""Which old results of tools a model sees as cleared (opencode.md 5.2)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, CallState, ContextSummary, ToolPart, Transcript, UserMessage
from workflows.domain.value import Value

_KEPT: Final = 2  # newest prompts with what follows them, or steps with calls, whichever are fewer
LARGE: Final = 200_000  # tokens of a window: from here on the numbers are the reference's, 40,000 and 20,000
_FULL: Final = 0.6  # of a smaller one: before, nothing is cleared
_PROTECTED: Final = 5  # the part (1/5) that the newest results before those keep
_LEAST: Final = 10  # less than this part (1/10) is not worth a provider's cache
_LEAST_RESULT: Final = 400  # characters: shorter ones are not cleared
_PROTECTED_TOOLS: Final = frozenset({"skill", "task", "question"})  # what they say cannot be had again, or holds on
_ENDED_BADLY: Final = "<shell_metadata>"  # of a command: the placeholder says that the call succeeded
_CHARS_PER_TOKEN: Final = 4


class SmallWindow(NamedTuple):
    """Tokens of a window below LARGE that requests may have, and those that the context has."""

    usable: int
    used: int


class Pruning(Value):
    """Results up to and including that of `call` are cleared: `tokens` more than before, by estimate."""

    call: PartId
    tokens: int


def find_pruning(transcript: Transcript, pruned: PartId | None, small: SmallWindow | None = None) -> Pruning | None:
    """What may be cleared besides the results up to and including that of `pruned`; None if that is too little, or a
    `small` window has room."""
    if small is not None and small.used < small.usable * _FULL:
        return None
    window = LARGE if small is None else small.usable
    seen = freed = 0
    newest: PartId | None = None
    for call in _old_results(transcript, pruned):
        tokens = round(len(call.outcome.output if call.outcome else "") / _CHARS_PER_TOKEN)
        seen += tokens
        if seen > window // _PROTECTED:
            newest = newest or call.id
            freed += tokens
    return Pruning(call=newest, tokens=freed) if newest is not None and freed > window // _LEAST else None


def cleared_calls(transcript: Transcript, pruned: PartId | None) -> frozenset[PartId]:
    """The calls whose results are cleared; none if a summary stands for that of `pruned`."""
    found: list[PartId] = []
    for entry in transcript if pruned is not None else ():
        if isinstance(entry, AssistantMessage):
            for call in _tool_parts(entry):
                found += [call.id] if _may_be_cleared(call) else []
                if call.id == pruned:
                    return frozenset(found)
    return frozenset()


def _may_be_cleared(call: ToolPart) -> bool:
    return may_be_cleared(call.state, call.tool, call.outcome.output if call.outcome else "")


def may_be_cleared(state: CallState, tool: str, output: str) -> bool:
    is_long = len(output) >= _LEAST_RESULT and _ENDED_BADLY not in output
    return is_long and state == CallState.DONE and tool not in _PROTECTED_TOOLS


def _old_results(transcript: Transcript, pruned: PartId | None) -> Iterator[ToolPart]:
    """The results before the newest prompts or steps, which are kept; from the newest on."""
    prompts = steps = 0
    for entry in reversed(transcript):
        if isinstance(entry, ContextSummary):
            return
        prompts += isinstance(entry, UserMessage)
        for call in reversed(_tool_parts(entry)) if isinstance(entry, AssistantMessage) else ():
            if call.id == pruned:
                return
            if max(prompts, steps) >= _KEPT and _may_be_cleared(call):
                yield call
        steps += isinstance(entry, AssistantMessage) and bool(_tool_parts(entry))


def _tool_parts(answer: AssistantMessage) -> list[ToolPart]:
    return [part for part in answer.parts if isinstance(part, ToolPart)]
