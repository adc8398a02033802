"""Judging stored calls: the rules of their turn and the grants that hold now, put into compact findings."""

import asyncio
import hashlib

from activities.session.describing import Describe, nothing
from activities.store import asks, grants, turns
from activities.store.calls import CallRow
from activities.store.journal import Journal
from workflows.domain.effects import Recovery
from workflows.domain.ids import SnapshotId
from workflows.domain.permissions.findings import Finding, finding
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Ruleset
from workflows.domain.state import ASK_GUARD, GUARD
from workflows.domain.wire import ANY_FILE, AskState, PreparedCall

EFFECT_DIGITS = 16  # of an effect's digest, in history; the rows hold all of it


class Judge:
    """Says what the rules of a turn and the session's live grants make of a call."""

    def __init__(self, rules: Ruleset, live: tuple[Grant, ...]) -> None:
        self.rules = rules
        self.live = live

    def findings(self, call: CallRow) -> tuple[Finding, ...]:
        """One finding per request of the call's plan; none when planning failed: running it will tell why."""
        requests = call.plan.requests if call.plan else ()
        return tuple(finding(request, self.rules, self.live) for request in requests)

    def guard(self, call: CallRow) -> Finding:
        """What is said of calling this again and again."""
        return finding(guard_request(call), self.rules, self.live)

    def prepared(self, call: CallRow, describe: Describe = nothing) -> PreparedCall:
        """The call without its contents, for the workflow."""
        guard = self.guard(call)
        return PreparedCall(
            id=call.id,
            tool=call.tool,
            loop=call.loop,
            findings=self.findings(call),
            guard=None if guard.action is Action.ASK else guard,
            effect=call.digest[:EFFECT_DIGITS] if call.digest and call.recovery is not Recovery.REPEATABLE else None,
            file=file_of(call),
            revision=call.revision,
            settled=call.settled,
            shown=describe(call),
        )


def file_of(call: CallRow) -> str | None:
    """What stands for the file that a call changes, if it changes one.

    A change that makes no sense yet may do so after an earlier call of the same answer: it waits for all of them.
    """
    if call.plan is None or call.plan.effect.unchecked:
        return ANY_FILE if call.recovery is Recovery.RECONCILABLE else None
    key = call.plan.file_key
    return hashlib.sha256(key.encode()).hexdigest()[:EFFECT_DIGITS] if key else None


async def judge(opened: Journal, snapshot: SnapshotId) -> Judge:
    """A judge for the calls of a turn that was opened with this snapshot."""
    frozen, live = await asyncio.gather(turns.snapshot(opened, snapshot), grants.live(opened))
    return Judge(frozen.rules, live)


async def resumed(opened: Journal, call: CallRow, by: Judge, describe: Describe) -> PreparedCall:
    """The call with the asks that it has already, for a chain that takes the turn over."""
    known = asks.counting(await asks.of_call(opened, call.id), call)
    waiting = next((ask for ask in known if ask.state is AskState.OPEN), None)
    return by.prepared(call, describe).model_copy(
        update={
            "ask": waiting.id if waiting else None,
            "request": waiting.request if waiting else None,
            "answered": tuple(ask.request for ask in known if ask.state is AskState.ANSWERED),
        }
    )


def request_of(call: CallRow, index: int) -> PermissionRequest | None:
    """The permission request that an ask with this index is about; None: the call has no such request any more."""
    if index == GUARD:
        return guard_request(call)
    requests = call.plan.requests if call.plan else ()
    return requests[index] if 0 <= index < len(requests) else None


def guard_request(call: CallRow) -> PermissionRequest:
    """The loop guard's question about a call that is made over and over (opencode.md 2.8)."""
    return PermissionRequest(
        permission=ASK_GUARD.permission,
        patterns=(call.tool,),
        always=(call.tool,),
        metadata={"tool": call.tool, "input": call.arguments},
    )
