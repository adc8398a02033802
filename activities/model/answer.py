"""A model's answer: streamed to watchers, and complete with its parts, calls and price."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Final, TypeAlias

from activities.error_boundary import storable_text
from activities.failpoints import failpoint
from activities.model.attempt import MODEL_FAILED, Attempt, model_failed
from activities.model.deltas import DeltaBatch, DeltaBatcher
from activities.model.endpoints import ResolvedModel
from activities.model.output_limit import is_bounded
from activities.model.port import AnswerPart, Finish, ModelPort, ModelRequest, RequestAccepted
from activities.model.result_formats import as_result
from activities.model.stream import Answer, AnswerAssembler, Delta, PartKind
from activities.stop_interceptor import stop_requested
from activities.store import deltas
from activities.store.calls import CallRow
from activities.store.commit_retry import finish_within_grace
from activities.store.deltas import Watchers
from activities.store.model_answers import NewAnswer
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.generation import Purpose
from workflows.domain.ids import PartId
from workflows.domain.messages import FINISH_BROKEN_OFF, AnswerMetadata, NewPart, ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Tokens, decimal_text

_LONGEST_EXPLANATION: Final = 500  # characters
PrepareCall: TypeAlias = Callable[[int, RequestedCall, bool, PartId], Awaitable[CallRow]]


class AnswerStream:
    """Gets the answers of models."""

    def __init__(self, port: ModelPort) -> None:
        self.port = port

    async def get(
        self,
        attempt: Attempt,
        model: ResolvedModel,
        request: ModelRequest,
        agent: str,
        prepare: PrepareCall | None = None,
    ) -> NewAnswer:
        """The answer for an attempt that has begun. `prepare` makes each of its calls, from its position, whether the
        answer was cut, and the id that its pieces had. Without `prepare`, calls are dropped.

        Raises ApplicationError, which says when to ask again, or that asking again is useless.
        """
        await failpoint("model.before_request", attempt.generation.purpose)
        assembler = AnswerAssembler()
        try:
            await self._stream(attempt, model, request, assembler)
            answer = assembler.answer() if request.format is None else as_result(assembler.answer())
            explanation = storable_text(attempt.shared.redactor.text(answer.explanation))[:_LONGEST_EXPLANATION]
            answer = replace(answer, explanation=explanation)
            new = await self._complete(answer, model, agent, is_bounded(request.max_output, request.options), prepare)
        except ModelError as error:
            failure = error.failure.model_copy(update={"begun": error.failure.begun or assembler.begun})
            raised = await attempt.failed(model, failure)
            if raised.type == MODEL_FAILED:
                await attempt.break_off(model, _begun(assembler, request, model, agent, raised.message))
            raise raised from error
        except UsageError:
            await attempt.end_reservation(model, sent=False)
            raise
        except asyncio.CancelledError:
            if stop_requested():
                await finish_within_grace(attempt.break_off(model, _begun(assembler, request, model, agent)))
            raise
        return new.model_copy(update={"estimated": attempt.estimate(answer, model)})

    async def _stream(
        self, attempt: Attempt, model: ResolvedModel, request: ModelRequest, assembler: AnswerAssembler
    ) -> None:
        database, session, generation = attempt.database, attempt.request.session, attempt.generation

        async def send_batch(batch: DeltaBatch) -> None:
            bodies = [asdict(delta) for delta in batch.deltas]
            await deltas.publish(database, session, generation.message, batch.attempt, bodies)

        async def unwatched() -> bool:
            return False

        shown = generation.purpose is Purpose.STEP
        watched = Watchers(database, session, attempt.watched).present if shown else unwatched
        tag = "-".join(str(number) for number in attempt.fence)
        async with DeltaBatcher(tag, send_batch, watched) as batcher, aclosing(self.port.stream(request)) as batches:
            async for events in batches:
                for event in events:
                    if isinstance(event, RequestAccepted):
                        await attempt.accepted()
                        # Shows watchers that the provider is working before any of the answer comes.
                        batcher.add(Delta(None, PartKind.REASONING if model.facts.reasoning else PartKind.TEXT, ""))
                    elif (delta := assembler.add(event)) is not None:
                        attempt.produced += len(delta.text)
                        batcher.add(delta)
                        await failpoint("model.after_chunk", generation.purpose)

    async def _complete(
        self, answer: Answer, model: ResolvedModel, agent: str, bounded: bool, prepare: PrepareCall | None
    ) -> NewAnswer:
        try:
            spent = answer.cost(model.price)
            body = AnswerMetadata(
                finish=answer.finish,
                agent=agent,
                model=model.name,
                variant=model.variant,
                tokens=answer.tokens,
                cost=None if spent is None else decimal_text(spent),
                bounded=bounded,
                explanation=answer.explanation,
            )
            parts = tuple(zip(answer.ids, answer.parts, strict=True))
            calls = [
                await prepare(position, part, answer.finish is Finish.LENGTH, id)
                for position, (id, part) in enumerate(parts)
                if isinstance(part, RequestedCall) and prepare is not None
            ]
            return NewAnswer(body=body, parts=_new_parts(parts), calls=tuple(calls))
        except (ValueError, TypeError, RecursionError) as error:
            raise model_failed(f"{model.name} gave an answer that cannot be stored: {error}") from error


def _begun(
    assembler: AnswerAssembler, request: ModelRequest, model: ResolvedModel, agent: str, failure: str = ""
) -> NewAnswer:
    """The texts of an answer that comes to no end. `failure`: why."""
    named = {"agent": agent, "model": model.name, "variant": model.variant}
    explanation = failure[:_LONGEST_EXPLANATION]
    body = AnswerMetadata(finish=FINISH_BROKEN_OFF, tokens=Tokens(), cost=None, explanation=explanation, **named)
    return NewAnswer(body=body, parts=_new_parts(assembler.texts() if request.format is None else ()))


def _new_parts(parts: Iterable[tuple[PartId, AnswerPart]]) -> tuple[NewPart, ...]:
    return tuple(
        NewPart(id=id, position=position, body=part)
        for position, (id, part) in enumerate(parts)
        if isinstance(part, TextPart | ReasoningPart)
    )
