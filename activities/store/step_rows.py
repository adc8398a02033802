"""What a step depends on besides its conversation, and how far its model sees old results of tools as cleared."""

from typing import Any, Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.shell_outputs import read_filled
from activities.store.statements import RowReader
from workflows.domain.budgets import BudgetLimits
from workflows.domain.context.prune import SmallWindow, find_pruning
from workflows.domain.events.generations import ContextPruned
from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.messages import ShellPart, SubtaskPart, Transcript
from workflows.domain.prompt import PromptContent
from workflows.domain.value import Value

_QUERIES: Final = Queries("step_rows")


class PruningRow(Value):
    """From this step on, results up to and including that of `call` are cleared: about `tokens` more than before."""

    turn: TurnId
    step: int
    call: PartId
    tokens: int


def advance_pruning(
    journal: Journal,
    turn: TurnId,
    step: int,
    transcript: Transcript,
    last: PruningRow | None,
    small: SmallWindow | None,
) -> PruningRow | None:
    """Clear what a step may do without, where that is much. A second attempt finds what the first has left."""
    found = find_pruning(transcript, last.call if last else None, small)
    if found is None:
        return last
    row = PruningRow(turn=turn, step=step, **found.model_dump())
    journal.write(_QUERIES.insert_pruning, session=journal.session, **row.model_dump())
    journal.record(ContextPruned(turn=turn, **found.model_dump()))
    return row


class OrderedSubtask(Value):
    """A subtask of a prompt, by its place among the parts."""

    prompt: MessageId
    place: int
    task: SubtaskPart


class OrderedCommands(Value):
    """The shell references of a prompt, by their places among the parts."""

    prompt: MessageId
    commands: dict[int, ShellPart]


class StepRow(Value):
    """`pruning`: the newest. `compacts`: a person wants the context to be shorter first. `limits`: of the budgets that
    count it. `system`: the turn's own instructions. `shell`: the commands in a prompt's text that have not begun.
    `subtask`: the last one that a prompt has and no step has begun; `reports`: the step before has begun the last of a
    slash command's. `refers`: a taken prompt names files or agents that no step has looked for. `parent`: the session
    that has started this one."""

    pruning: PruningRow | None
    compacts: bool
    limits: tuple[BudgetLimits, ...]
    system: str | None
    shell: OrderedCommands | None
    subtask: OrderedSubtask | None
    reports: bool
    refers: bool
    parent: SessionId | None


async def read(reader: RowReader, session: SessionId, turn: TurnId, step: int) -> StepRow:
    """In one statement, as every step needs it."""
    (row,) = await reader.rows(_QUERIES.of_step, session=session, turn=turn)
    # not in SQL: PostgreSQL cannot look into a body with NUL or a lone surrogate
    own = None if row["instructions"] is None else PromptContent.model_validate(row["instructions"])
    prompt = row["instructed_by"]
    shell = {} if own is None else {place: part for place, part in own.shell.items() if place not in row["begun"]}
    subtasks = {} if own is None or shell else (await read_filled(reader, prompt, own)).subtasks
    left = [
        OrderedSubtask(prompt=prompt, place=place, task=task)
        for place, task in subtasks.items()
        if place not in row["begun"]
    ]
    return StepRow(
        pruning=None if row["call"] is None else _pruning(row),
        compacts=row["compacts"],
        limits=tuple(map(BudgetLimits.model_validate_json, row["limits"])),
        system=own.system if own else None,
        shell=OrderedCommands(prompt=prompt, commands=shell) if shell else None,
        subtask=left[-1] if left else None,
        reports=not left and row["begun_at"] == step - 1 and any(task.command for task in subtasks.values()),
        refers=row["refers"],
        parent=row["parent"],
    )


def _pruning(row: dict[str, Any]) -> PruningRow:
    return PruningRow(turn=row["turn"], step=row["step"], call=row["call"], tokens=row["cleared"])
