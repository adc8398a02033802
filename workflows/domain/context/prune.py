"""Which old results of tools a model sees as cleared (opencode.md 5.2)."""

from collections.abc import Iterator
from typing import Final

from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, CallState, ContextSummary, ToolPart, Transcript, UserMessage
from workflows.domain.value import Value

_KEPT_PROMPTS: Final = 2  # the newest, with what follows them
_PROTECTED_TOKENS: Final = 40_000  # of the newest results before those
_LEAST_TOKENS: Final = 20_000  # fewer are not worth a provider's cache
_PROTECTED_TOOLS: Final = frozenset({"skill"})  # what they say holds for the rest of the session
_CHARS_PER_TOKEN: Final = 4


class Pruning(Value):
    """Results up to and including that of `call` are cleared: `tokens` more than before, by estimate."""

    call: PartId
    tokens: int


def find_pruning(transcript: Transcript, pruned: PartId | None) -> Pruning | None:
    """What may be cleared besides the results up to and including that of `pruned`; None if that is too little."""
    seen = freed = 0
    newest: PartId | None = None
    for call in _old_results(transcript, pruned):
        tokens = round(len(call.outcome.output if call.outcome else "") / _CHARS_PER_TOKEN)
        seen += tokens
        if seen > _PROTECTED_TOKENS:
            newest = newest or call.id
            freed += tokens
    return Pruning(call=newest, tokens=freed) if newest is not None and freed > _LEAST_TOKENS else None


def cleared_calls(transcript: Transcript, pruned: PartId | None) -> frozenset[PartId]:
    """The calls whose results are cleared; none if a summary stands for that of `pruned`."""
    found: list[PartId] = []
    for entry in transcript if pruned is not None else ():
        if isinstance(entry, AssistantMessage):
            for call in _tool_parts(entry):
                found += [call.id] if may_be_cleared(call.state, call.tool) else []
                if call.id == pruned:
                    return frozenset(found)
    return frozenset()


def may_be_cleared(state: CallState, tool: str) -> bool:
    return state == CallState.DONE and tool not in _PROTECTED_TOOLS


def _old_results(transcript: Transcript, pruned: PartId | None) -> Iterator[ToolPart]:
    """The results before the newest prompts, which are kept; from the newest on."""
    prompts = 0
    for entry in reversed(transcript):
        if isinstance(entry, ContextSummary):
            return
        prompts += isinstance(entry, UserMessage)
        if not isinstance(entry, AssistantMessage) or prompts < _KEPT_PROMPTS:
            continue
        for call in reversed(_tool_parts(entry)):
            if call.id == pruned:
                return
            if may_be_cleared(call.state, call.tool):
                yield call


def _tool_parts(answer: AssistantMessage) -> list[ToolPart]:
    return [part for part in answer.parts if isinstance(part, ToolPart)]
