"""Prepared calls: names repaired, arguments parsed, effects planned."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import JsonValue

from activities.calls.plan_call import plan_call
from activities.calls.planner.planner import Planner
from activities.new_ids import new_id
from activities.store import seen_files
from activities.store.calls import CallRow
from activities.store.statements import RowReader
from activities.tools.file_change import EarlierEdit, FileChangeTool
from activities.tools.invalid import INVALID
from activities.tools.tool import Tool, Toolset
from activities.turn_context import TurnContext
from workflows.domain.call_display import DisplayKind
from workflows.domain.call_order import Act, Extent, find_waits
from workflows.domain.effects import Plan, Recovery, input_digest
from workflows.domain.errors import ToolError, Unavailable
from workflows.domain.ids import MessageId, PartId, Prefix
from workflows.domain.messages import RequestedCall
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.loop_guard import Recent, loop_digest
from workflows.domain.wire import GenerateRequest

MAX_ARGUMENT_DEPTH: Final = 100  # levels of arguments
_KEPT: Final = 5_000  # characters of arguments that were of no use, from each end
_STRING_OR_LAST_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True)
class CallPreparer:
    """Makes the ledger's rows of an answer's calls; reads the work tree, changes nothing."""

    request: GenerateRequest
    message: MessageId
    tools: Toolset
    turn: TurnContext
    planner: Planner | None = None
    recent: Recent = ()
    mentions: Mapping[str, MessageId] = field(default_factory=dict)  # names in the newest prompts
    offered: Sequence[str] = ()  # the tools that the model was offered
    reader: RowReader | None = None  # of what the session has seen of files
    edits: list[EarlierEdit] = field(default_factory=list)  # of the answer, so far

    async def prepare(
        self, position: int, requested: RequestedCall, cut: bool = False, id: PartId | None = None
    ) -> CallRow:
        """An invalid call becomes one of `invalid`, which tells the model why. `cut`: its answer was, by its limit.
        `id`: what watchers know it by."""
        name, arguments, mended = self.parse_call(requested, cut=cut)
        if _depth(arguments) > MAX_ARGUMENT_DEPTH:
            name, arguments, mended = _invalid(
                requested, f"Invalid input for tool {name}: nested deeper than {MAX_ARGUMENT_DEPTH} levels"
            )
        tool = self.tools[name]
        plan = await self.plan(tool, arguments)
        unnamed = plan.paths if plan and tool.display.subject is None else ()
        about = ", ".join(self.turn.workspace.relative(Path(each)) for each in unnamed)
        row = CallRow(
            id=id or PartId(new_id(Prefix.PART)),
            session=self.request.session,
            turn=self.request.turn,
            step=self.request.step,
            position=position,
            message=self.message,
            provider_id=requested.id,
            tool=name,
            arguments=arguments,
            recovery=tool.recovery,
            display=tool.display.model_copy(update={"mended": mended, "about": about}),
            plan=plan,
            digest=plan.effect.digest if plan else None,
            loop_digest=loop_digest(input_digest(name, arguments), self.recent),
        )
        return row.model_copy(update={"mentioned_by": self.mentions.get(row.delegate or "")})

    def parse_call(self, requested: RequestedCall, *, cut: bool = False) -> tuple[str, dict[str, JsonValue], bool]:
        """Tool and arguments, or `invalid` and why (opencode.md 7.1); whether the arguments had to be mended."""
        if cut and not _is_whole(requested.arguments):
            error = "The call was cut at the limit of the answer."
            return INVALID, {"tool": requested.name, "error": error, "cut": True}, False
        name = requested.name if requested.name in self.tools else requested.name.lower()
        if name not in self.tools or name == INVALID:
            known = ", ".join(self.offered) or "none"
            return _invalid(
                requested, f"Model tried to call unavailable tool '{requested.name}'. Available tools: {known}."
            )
        try:
            arguments, mended = _decode(requested.arguments or "{}")
        except (ValueError, RecursionError) as error:
            return _invalid(requested, f"Invalid input for tool {name}: JSON parsing failed: {error}")
        if not isinstance(arguments, dict):
            return _invalid(requested, f"Invalid input for tool {name}: a JSON object is expected")
        return name, arguments, mended

    async def plan(self, tool: Tool[Any], arguments: dict[str, JsonValue]) -> Plan | None:
        """None when planning fails: the run tells the model why."""
        try:
            params = tool.parse(arguments)
            plan = await plan_call(tool, params, arguments, self.turn, self.planner, earlier=tuple(self.edits))
            if plan.replaced and self.reader:
                edited = {path for each in self.edits for path in each.paths}
                with suppress(Unavailable):  # the claim looks again
                    unedited = [each for each in plan.replaced_targets if each.path not in edited]
                    await seen_files.require_seen(self.reader, self.request.session, unedited)
        except ToolError:
            return None
        if isinstance(tool, FileChangeTool) and plan.targets:
            self.edits.append(EarlierEdit(tool, arguments, plan.paths))
        return plan


def _is_whole(arguments: str) -> bool:
    """False for the arguments of the call that a cut answer ends in."""
    try:
        return isinstance(_decode(arguments)[0], dict)
    except (ValueError, RecursionError):
        return False


def _decode(text: str) -> tuple[JsonValue, bool]:
    """The JSON, and whether it was mended: a raw line break in a string, a comma too many, encoded twice."""
    try:
        value, mended = _load(text, strict=True), False
    except ValueError:
        value, mended = _load(_STRING_OR_LAST_COMMA.sub(lambda hit: hit[1] or " ", text), strict=False), True
    return (_load(value, strict=False), True) if isinstance(value, str) else (value, mended)


def _load(text: str, *, strict: bool) -> Any:
    return json.loads(text, strict=strict, parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _depth(value: JsonValue) -> int:
    """Deeply nested arguments cannot be stored or checked."""
    level: list[JsonValue] = [value]
    depth = 0
    while level and depth <= MAX_ARGUMENT_DEPTH:
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [item for items in inner for item in items]
        depth += 1
    return depth


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _invalid(requested: RequestedCall, problem: str) -> tuple[str, dict[str, JsonValue], bool]:
    """With the arguments, which the model then need not write again."""
    text = requested.arguments
    if len(text) > 2 * _KEPT:
        text = f"{text[:_KEPT]}\n[…]\n{text[-_KEPT:]}"
    return INVALID, {"tool": requested.name, "error": problem, "arguments": text}, False


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
    if plan is not None and plan.extent is not None:
        return plan.extent
    paths = plan.paths if plan else ()
    match call.display.kind:
        case DisplayKind.EDIT:
            return Extent(act=Act.CHANGE, paths=paths)
        case DisplayKind.EXECUTE:
            return Extent(act=Act.CHANGE if plan is None or changes else Act.COMMAND)
        case DisplayKind.READ if plan is None or plan.targets:
            return Extent(act=Act.LOOK, paths=paths)
        case DisplayKind.DELEGATE:
            return Extent(act=Act.WORK if changes else Act.REST)
        case DisplayKind.WAIT:
            return Extent(act=Act.REST)
    return Extent(act=Act.CHANGE if call.recovery is Recovery.ONCE else Act.NOTHING)
