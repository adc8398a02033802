"""A step that asks no model: its answer are the calls that a prompt has asked for (opencode.md 4.6, 8.4)."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from activities.calls.prepare import CallPreparer
from activities.files.named_files import ResolvedReferences
from activities.store.calls import CallRow
from activities.store.model_answers import NewAnswer
from activities.store.step_rows import OrderedCommands, OrderedSubtask
from activities.store.turns import TurnStatus
from activities.tools.read import ReadTool
from workflows.domain.call_display import DisplayKind
from workflows.domain.effects import input_digest
from workflows.domain.ids import MessageId
from workflows.domain.messages import AnswerMetadata, RequestedCall
from workflows.domain.usage import Tokens


async def subtask_answer(preparer: CallPreparer, subtask: OrderedSubtask, turn: TurnStatus) -> NewAnswer:
    delegate = next(each.name for each in preparer.tools.values() if each.display.kind is DisplayKind.DELEGATE)
    call = await _order(preparer, 0, delegate, (subtask.prompt, subtask.place), subtask.task.arguments)
    return _answer([call], turn)


async def shell_answer(preparer: CallPreparer, ordered: OrderedCommands, turn: TurnStatus) -> NewAnswer:
    """The commands in a prompt's text are checked like those of a model."""
    shell = next(each.name for each in preparer.tools.values() if each.display.kind is DisplayKind.EXECUTE)
    calls = [
        await _order(preparer, at, shell, (ordered.prompt, place), part.arguments)
        for at, (place, part) in enumerate(ordered.commands.items())
    ]
    answer = _answer(calls, turn)
    return answer.model_copy(update={"body": answer.body.model_copy(update={"for_prompt": True})})


async def files_answer(
    preparer: CallPreparer, resolved: Mapping[MessageId, ResolvedReferences], turn: TurnStatus
) -> NewAnswer:
    """The files that prompts name are read like a model's reads: the same rules decide."""
    named = [((prompt, each.place), each.arguments) for prompt, found in resolved.items() for each in found.files]
    calls = [await _order(preparer, at, ReadTool.name, *each) for at, each in enumerate(named)]
    return _answer(calls, turn).model_copy(
        update={"resolved": {prompt: found.agents for prompt, found in resolved.items()}}
    )


async def _order(
    preparer: CallPreparer,
    position: int,
    tool: str,
    ordered: tuple[MessageId, int],
    arguments: dict[str, JsonValue],
) -> CallRow:
    """The loop guard does not count these calls: a person has asked for each."""
    requested = RequestedCall(id="{}_{}".format(*ordered), name=tool, arguments=json.dumps(arguments))
    call = await preparer.prepare(position, requested)
    by = {"ordered_by": ordered[0], "ordered_part": ordered[1]}
    return call.model_copy(update={**by, "loop_digest": input_digest(tool, by)})


def _answer(calls: Sequence[CallRow], turn: TurnStatus) -> NewAnswer:
    """Costs nothing."""
    named = {"agent": turn.agent, "model": turn.model, "variant": turn.variant}
    body = AnswerMetadata(finish="tool-calls", tokens=Tokens(), cost="0", **named)
    return NewAnswer(body=body, calls=tuple(calls))
