"""A step that asks no model: its answer is the call of `task` that a prompt has as a subtask (opencode.md 8.4)."""

import json

from activities.calls.prepare import CallPreparer
from activities.store.model_answers import NewAnswer
from activities.store.step_rows import OrderedSubtask
from activities.store.turns import TurnStatus
from workflows.domain.call_display import DisplayKind
from workflows.domain.effects import input_digest
from workflows.domain.messages import AnswerMetadata, RequestedCall
from workflows.domain.usage import Tokens


async def subtask_answer(preparer: CallPreparer, subtask: OrderedSubtask, turn: TurnStatus) -> NewAnswer:
    """Costs nothing. No loop guard counts it: a person has asked for each."""
    arguments = json.dumps(subtask.task.arguments)
    name = next(each.name for each in preparer.tools.values() if each.display.kind is DisplayKind.DELEGATE)
    requested = RequestedCall(id=f"{subtask.prompt}_{subtask.place}", name=name, arguments=arguments)
    call = await preparer.prepare(0, requested)
    ordered = {"ordered_by": subtask.prompt, "ordered_part": subtask.place}
    body = AnswerMetadata(
        finish="tool-calls", agent=turn.agent, model=turn.model, variant=turn.variant, tokens=Tokens(), cost="0"
    )
    return NewAnswer(
        body=body, calls=(call.model_copy(update={**ordered, "loop_digest": input_digest(name, ordered)}),)
    )
