"""Refuses activities of other workflows, and counts all refusals."""

import logging
from contextlib import suppress
from functools import partial
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.heartbeat import last_position
from activities.store import refused_callers, suspensions
from activities.store.commit_retry import retry_while_unavailable
from activities.store.database import Database
from activities.store.journal import KNOWN_LOG, WORKER, KnownLog, session_journal
from activities.store.refused_callers import RefusalReason
from workflows.domain.errors import DatabaseBehind, HoldfastError, StaleFence, UnknownEpoch
from workflows.domain.ids import SCHEDULED_TYPE, scheduled_id
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.value import Result
from workflows.domain.wire import FiringRequest, Request

_LOG: Final = logging.getLogger("holdfast.activity")


class CallerCheckInterceptor(Interceptor):
    """Refuses foreign callers before anything is read or written: Temporal vouches for the scheduling workflow, the
    request proves nothing."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _CallerCheckInbound(next, self.database)


class _CallerCheckInbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, database: Database) -> None:
        super().__init__(next)
        self.database = database

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        match input.args:
            case [Request() as request]:
                return await self.execute_for_session(input, info, request)
            case [FiringRequest() as firing] if _is_of_schedule(info, firing):
                return await super().execute_activity(input)
            case _:  # no session to check against, or another schedule's
                raise _foreign_caller_error(
                    f"{info.activity_type} is refused to workflow {info.workflow_id!r} of type {info.workflow_type!r}: "
                    "it takes one request of its session or schedule, and nothing else."
                )

    async def execute_for_session(self, input: ExecuteActivityInput, info: activity.Info, request: Request) -> Any:
        if (info.workflow_type, info.workflow_id) != request.caller:
            caller = f"workflow {info.workflow_id!r} of type {info.workflow_type!r}"
            await self.record(request, RefusalReason.FOREIGN, caller)
            raise _foreign_caller_error(
                f"{info.activity_type} is refused to {caller}: it is for {request.caller.id!r} only."
            )
        try:
            known = KnownLog(request.session, max(request.seen, last_position()))
            KNOWN_LOG.set(known)  # an activity is a task of its own
            result = await super().execute_activity(input)
            return result.model_copy(update={"seen": known.newest}) if isinstance(result, Result) else result
        except DatabaseBehind as behind:
            await retry_while_unavailable(partial(self.suspend, request, behind))
            raise ApplicationError(str(behind), type=DatabaseBehind.__name__, non_retryable=True) from behind
        except (StaleFence, ApplicationError) as error:
            if (reason := _refusal(error)) is not None:
                await self.record(request, reason, f"run {info.workflow_run_id}")
            raise

    async def suspend(self, request: Request, behind: DatabaseBehind) -> None:
        """What the session has done since may be done already: a person decides."""
        async with session_journal(self.database, request.session, WORKER) as journal:
            await journal.locked()
            if not journal.ended:
                cause = SuspendCause(reason=SuspendReason.BEHIND, was=str(behind.seen), now=str(behind.end))
                await suspensions.suspend(journal, cause)

    async def record(self, request: Request, reason: RefusalReason, caller: str) -> None:
        """Best effort: it is refused in any case."""
        with suppress(HoldfastError):  # no such session, or the database is away
            await refused_callers.record(self.database, request.session, reason, caller, activity.info().activity_type)


def _is_of_schedule(info: activity.Info, firing: FiringRequest) -> bool:
    return info.workflow_type == SCHEDULED_TYPE and (info.workflow_id or "").startswith(scheduled_id(firing.schedule))


def _refusal(error: StaleFence | ApplicationError) -> RefusalReason | None:
    if isinstance(error, ApplicationError):
        return RefusalReason.STALE if error.type == StaleFence.__name__ else None
    return RefusalReason.EPOCH if isinstance(error, UnknownEpoch) else RefusalReason.STALE


def _foreign_caller_error(message: str) -> ApplicationError:
    _LOG.warning("%s", message)
    return ApplicationError(message, type="ForeignCaller", non_retryable=True)
