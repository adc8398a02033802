"""Why a turn ended before its work was done, as OpenCode's error of its last answer."""

from typing import Final

from pydantic import JsonValue

from worker.opencode.shapes import ErrorShape
from workflows.domain.close_reason import CloseReason
from workflows.domain.messages import FINISH_BROKEN_OFF, FINISH_LENGTH, AssistantMessage
from workflows.domain.provider_failure import FinalFailure
from workflows.domain.views.sessions import UnfinishedTurn

ABORTED: Final = "MessageAbortedError"
UNKNOWN: Final = "UnknownError"
_OF_FINISHES: Final = {"content-filter": "ContentFilterError", FINISH_LENGTH: "MessageOutputLengthError"}


def turn_error(turn: UnfinishedTurn, newest: AssistantMessage | None, corrections: int | None) -> ErrorShape:
    """`newest`: its last step's answer, if there is one. `corrections`: how often a result that it owes may be
    corrected."""
    if turn.reason is not CloseReason.FAILED:
        return ErrorShape(name=ABORTED, data={"message": "Aborted"})
    data: dict[str, JsonValue] = {"message": turn.error or ""}
    if turn.failure is not None and turn.failure.missing_key:
        return ErrorShape(name="ProviderAuthError", data={**data, "providerID": turn.model.partition("/")[0]})
    if turn.failure is not None:
        return _provider_error(turn.failure, data)
    if newest is not None and newest.body.finish in _OF_FINISHES:
        return ErrorShape(name=_OF_FINISHES[newest.body.finish], data=data)
    if newest is not None and corrections is not None:
        return ErrorShape(name="StructuredOutputError", data={**data, "retries": corrections})
    return ErrorShape(name=UNKNOWN, data=data)


def error_of_answer(turn: UnfinishedTurn, answer: AssistantMessage, corrections: int | None) -> ErrorShape | None:
    """The error of a turn that ended with this answer; of what OpenCode has no name for, only if it broke off: OpenCode
    sends no answer with an error."""
    if turn.step != answer.step:
        return None
    error = turn_error(turn, answer, corrections)
    return error if error.name != UNKNOWN or answer.body.finish == FINISH_BROKEN_OFF else None


def _provider_error(failure: FinalFailure, data: dict[str, JsonValue]) -> ErrorShape:
    response: dict[str, JsonValue] = {} if failure.body is None else {"responseBody": failure.body}
    if failure.overflow:
        return ErrorShape(name="ContextOverflowError", data=data | response)
    status: dict[str, JsonValue] = {} if failure.status is None else {"statusCode": failure.status}
    return ErrorShape(name="APIError", data=data | status | {"isRetryable": failure.retryable} | response)
