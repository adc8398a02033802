"""The order of an answer's calls, by what they would do."""

from collections.abc import Sequence

from activities.store.calls import CallRow
from workflows.domain.call_display import DisplayKind
from workflows.domain.call_order import Act, Extent, find_waits
from workflows.domain.effects import Recovery
from workflows.domain.permissions import permission_keys


def in_order(calls: Sequence[CallRow]) -> tuple[CallRow, ...]:
    """An answer's calls, each with the positions of those that it waits for."""
    waits = find_waits([_extent(call) for call in calls])
    positions = [tuple(calls[at].position for at in each) for each in waits]
    return tuple(call.model_copy(update={"waits_for": each}) for call, each in zip(calls, positions, strict=True))


def _extent(call: CallRow) -> Extent:
    """One that could not be planned may become possible by an earlier one."""
    plan = None if call.plan is None or call.plan.effect.unchecked else call.plan
    changes = plan is not None and any(
        each.changes or each.opaque or each.permission == permission_keys.EDIT for each in plan.requests
    )
    match call.display.kind:
        case DisplayKind.EDIT:
            return Extent(act=Act.CHANGE, path=plan.file_key if plan else None)
        case DisplayKind.EXECUTE:
            return Extent(act=Act.CHANGE if plan is None or changes else Act.COMMAND)
        case DisplayKind.READ if plan is None or plan.targets:
            return Extent(act=Act.LOOK, path=plan.targets[0].path if plan else None)
        case DisplayKind.DELEGATE:
            return Extent(act=Act.WORK if changes else Act.REST)
        case DisplayKind.WAIT:
            return Extent(act=Act.REST)
    return Extent(act=Act.CHANGE if call.recovery is Recovery.ONCE else Act.NOTHING)
