"""A session's messages in OpenCode's shapes, for exports and live events alike."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from worker.opencode import shapes
from worker.opencode.exported_shapes import AssistantInfo, ExportedMessage, MessageSummary, Paths, UserInfo
from worker.opencode.reference_shapes import reference_shapes
from worker.opencode.shapes import CallStateShape, ErrorShape, PartShape, SpanShape, TimesShape, ToolShape
from worker.opencode.turn_errors import turn_error
from workflows.domain import messages, usage
from workflows.domain.ids import MessageId, SessionId, ending_message_id
from workflows.domain.messages import FINISH_BROKEN_OFF, AssistantMessage, CallState, UserMessage
from workflows.domain.views.messages import CallTimes, MessageDetails, StepFailure, SummaryDetails
from workflows.domain.views.sessions import UnfinishedTurn


@dataclass(frozen=True)
class MessageShapes:
    """Of one session. `parent`: the prompt that a message answers; `since`: the end of what was before it."""

    session: SessionId
    paths: Paths

    def user(
        self, message: UserMessage, details: MessageDetails, summary: MessageSummary | None = None
    ) -> ExportedMessage:
        """A prompt's message: agent and model are those that answer it."""
        info = UserInfo(
            id=message.id,
            session_id=self.session,
            time=TimesShape(created=shapes.milliseconds(message.at)),
            agent=details.agent,
            model=shapes.model_shape(details.model, details.variant),
            system=message.system,
            tools=message.tools,
            format=shapes.output_format_shape(message.format) if message.format else None,
            summary=summary,
        )
        parts = [
            shapes.prompt_part_shape(info.session_id, info.id, *each, synthetic=message.synthetic)
            for each in enumerate(message.parts)
            if not isinstance(each[1], messages.ShellPart)  # the text has it, and its call follows
        ]
        referred = reference_shapes(info.session_id, self.paths.cwd, message, details.read)
        return ExportedMessage(info=info, parts=(*parts, *referred))

    def assistant(
        self,
        message: AssistantMessage,
        details: MessageDetails,
        parent: MessageId,
        since: datetime | None,
        *,
        error: ErrorShape | None = None,
        failures: Iterable[StepFailure] = (),
    ) -> ExportedMessage:
        """A step's answer: it is complete, and has the part that says so, once its calls have ended."""
        body, at = message.body, shapes.milliseconds(message.at)
        ended = step_end(message, details)
        info = self._info(
            message.id,
            parent,
            TimesShape(
                created=shapes.milliseconds(max(since or details.opened, details.opened)),
                completed=None if ended is None else shapes.milliseconds(ended),
            ),
            body.agent,
            body.model,
            variant=body.variant,
            cost=shapes.cost_number(body.cost),
            tokens=shapes.tokens_shape(body.tokens),
            finish=None if body.finish == FINISH_BROKEN_OFF else body.finish,
            structured=message.structured,
            error=error,
        )
        texts = iter(details.text_parts)
        parts = [
            self.call(part, message.id, details.call_times[part.id], message.at)
            if isinstance(part, messages.ToolPart)
            else shapes.text_shape(self.session, message.id, next(texts), part, at)
            for part in message.parts
        ]
        begin = shapes.step_start_shape(self.session, message.id)
        whole = (begin, *self._retries(message.id, failures), *parts)
        if ended is not None and body.finish != FINISH_BROKEN_OFF:
            last = max(each.id for each in (begin, *parts))
            whole += (shapes.step_finish_shape(self.session, message.id, body, last),)
        return ExportedMessage(info=info, parts=whole)

    def begun(self, id: MessageId, parent: MessageId, agent: str, model: str, created: datetime) -> AssistantInfo:
        """An answer of which only pieces are known."""
        time = TimesShape(created=shapes.milliseconds(created))
        return self._info(id, parent, time, agent, model, cost=0, tokens=shapes.tokens_shape(usage.Tokens()))

    def failure(self, turn: UnfinishedTurn, parent: MessageId, since: datetime | None) -> ExportedMessage:
        """A turn that came to no answer: it has no row, but a stable id."""
        at = shapes.milliseconds(turn.ended_at)
        created = max(since or turn.opened_at, turn.opened_at)
        info = self.begun(ending_message_id(turn.id, at), parent, turn.agent, turn.model, created)
        time = info.time.model_copy(update={"completed": at})
        return ExportedMessage(
            info=info.model_copy(update={"time": time, "error": turn_error(turn, None, None)}), parts=()
        )

    def summary(self, summary: SummaryDetails, request: MessageId) -> ExportedMessage:
        body, at = summary.body, shapes.milliseconds(summary.at)
        info = self._info(
            summary.id,
            request,
            TimesShape(created=shapes.milliseconds(summary.begun_at), completed=at),
            body.agent,
            body.model,
            variant=body.variant,
            cost=shapes.cost_number(body.cost),
            tokens=shapes.tokens_shape(body.tokens),
            finish=body.finish,
            summary=True,
        )
        texts = [shapes.text_shape(self.session, summary.id, each.id, each.body, at) for each in summary.parts]
        parts = [shapes.step_start_shape(self.session, summary.id), *texts]
        end = shapes.step_finish_shape(self.session, summary.id, body, max(each.id for each in parts))
        return ExportedMessage(info=info, parts=(*parts, end))

    def call(self, part: messages.ToolPart, message: MessageId, timing: CallTimes, otherwise: datetime) -> ToolShape:
        """`otherwise`: the begin of a call that has no time yet."""
        return ToolShape(
            id=part.id,
            session_id=self.session,
            message_id=message,
            call_id=part.provider_id,
            tool=part.tool,
            state=self._call_state(part, timing, _span(timing, otherwise)),
        )

    def _call_state(self, part: messages.ToolPart, timing: CallTimes, span: SpanShape) -> CallStateShape:
        if part.outcome is None and timing.child is not None:
            return shapes.running_task_shape(part.arguments, self.session, timing.child, timing.model, span)
        asks = part.state is CallState.PREPARED and timing.asked is not None  # clients show what runs beside the ask
        state = CallState.CLAIMED if asks else part.state
        return shapes.call_state_shape(state, part.arguments, part.outcome, span)

    def _retries(self, message: MessageId, failures: Iterable[StepFailure]) -> Iterator[PartShape]:
        for place, each in enumerate(failures, 1):
            at = shapes.milliseconds(each.at)
            yield shapes.retry_shape(self.session, message, place, each.attempt, each.kind, each.message, at)

    def _info(
        self, id: MessageId, parent: MessageId, time: TimesShape, agent: str, model: str, **more: Any
    ) -> AssistantInfo:
        named = shapes.model_shape(model)
        return AssistantInfo(
            id=id,
            session_id=self.session,
            time=time,
            parent_id=parent,
            provider_id=named.provider_id,
            model_id=named.model_id,
            agent=agent,
            mode=agent,
            path=self.paths,
            **more,
        )


def step_end(message: AssistantMessage, details: MessageDetails) -> datetime | None:
    """The end of its calls, or of the answer; None: calls are open."""
    settled = [timing.settled for timing in details.call_times.values()]
    ended = [at for at in settled if at is not None]
    return max((message.at, *ended)) if len(ended) == len(settled) else None


def _span(timing: CallTimes, otherwise: datetime) -> SpanShape:
    """A refused or cancelled call has only an end."""
    begin = timing.claimed or timing.settled or timing.asked or otherwise
    end, cleared = (shapes.milliseconds(at) if at else None for at in (timing.settled, timing.cleared))
    return SpanShape(start=shapes.milliseconds(begin), end=end, compacted=cleared)
