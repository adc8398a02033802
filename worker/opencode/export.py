"""A session as one JSON document, in OpenCode's shapes."""

import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import itemgetter
from os.path import relpath
from textwrap import indent
from typing import Any

from pydantic import JsonValue

from worker.opencode import compaction_shapes, shapes
from worker.opencode.compaction_shapes import Position
from worker.opencode.exported_shapes import (
    AssistantInfo,
    DiffSummary,
    ExportedMessage,
    MessageSummary,
    Paths,
    RuleShape,
    SessionInfo,
    UserInfo,
)
from worker.opencode.reference_shapes import reference_shapes
from worker.opencode.sanitize import sanitize, sanitize_message
from worker.opencode.shapes import CallStateShape, ErrorShape, PartShape, SpanShape, TimesShape
from worker.opencode.slug import session_slug
from worker.opencode.turn_errors import UNKNOWN, turn_error
from workflows.domain import messages, usage
from workflows.domain.ids import MessageId, TurnId, ending_message_id
from workflows.domain.messages import FINISH_BROKEN_OFF, AssistantMessage, UserMessage
from workflows.domain.views.messages import CallTimes, MessageDetails, StepFailure, SummaryDetails
from workflows.domain.views.sessions import ChangeSummary, Overview, SessionOrigin, Totals, UnfinishedTurn


@dataclass
class Exporter:
    """Each unfinished turn in `cut_short` has its error at its last answer, or in a message of its own; each of the
    `summaries` becomes three: that it was asked for, the summary, and what told the model to go on; each of the
    `failures` a part of its step's answer. `changes` stands at its prompt."""

    overview: Overview
    worktree: str
    cut_short: Sequence[UnfinishedTurn] = ()
    summaries: Sequence[SummaryDetails] = ()
    changes: ChangeSummary | None = None
    failures: Sequence[StepFailure] = ()
    _prompt: MessageId = MessageId("")
    _since: datetime | None = None
    _tails: dict[MessageId, MessageId] = field(default_factory=dict)
    _failed: dict[tuple[TurnId, int], list[StepFailure]] = field(default_factory=lambda: defaultdict(list))
    _ended: dict[TurnId, UnfinishedTurn] = field(default_factory=dict)  # whose errors are still to come
    _corrections: dict[TurnId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ended = {turn.id: turn for turn in self.cut_short}
        for each in self.failures:
            self._failed[each.turn, each.step].append(each)

    async def document(
        self,
        info: SessionInfo,
        details: AsyncIterator[MessageDetails],
        *,
        sanitized: bool = False,
    ) -> AsyncIterator[str]:
        """The document in pieces: a long session never fills memory. `sanitized`: with placeholders for contents."""
        session, of_message = (sanitize, sanitize_message) if sanitized else (dict, dict)
        yield f'{{\n  "info": {indent(_json(session(info.dump())), "  ").lstrip()},\n  "messages": ['
        comma = ""
        async for message in self._messages(details):
            yield f"{comma}\n{indent(_json(of_message(message.dump())), '    ')}"
            comma = ","
        yield "\n  ]\n}\n"

    async def _messages(self, details: AsyncIterator[MessageDetails]) -> AsyncIterator[ExportedMessage]:
        failures = [(Position(turn.number + 1), partial(self._failure, turn)) for turn in self.cut_short]
        compacted = [(compaction_shapes.position(each), partial(self._compaction, each)) for each in self.summaries]
        inserted = deque(sorted((*failures, *compacted), key=itemgetter(0)))
        async for each in details:
            position = compaction_shapes.position_of_message(each)
            while inserted and inserted[0][0] <= position:
                for exported in inserted.popleft()[1]():
                    yield exported
            self._find_tails(each.message.id, position)
            yield self._message(each)
        for _, exports in inserted:
            for exported in exports():
                yield exported

    def _find_tails(self, message: MessageId, position: Position) -> None:
        """Find, for summaries still to come, the first message after those that the summary replaces."""
        for each in self.summaries:
            begin, end = Position(each.last_number, each.last_step, 2), compaction_shapes.position(each)
            if each.id not in self._tails and begin < position < end:
                self._tails[each.id] = message

    def _compaction(self, summary: SummaryDetails) -> Iterator[ExportedMessage]:
        """That it was asked for, the summary, and what told the model to go on."""
        session = self.overview.id
        request = compaction_shapes.request(session, summary, self._tails.get(summary.id))
        yield request
        yield self._summary(summary, request.info.id)
        if summary.go_on is not None:
            going_on = compaction_shapes.continuation(session, summary, summary.go_on)
            self._prompt = going_on.info.id
            yield going_on

    def _summary(self, summary: SummaryDetails, request: MessageId) -> ExportedMessage:
        body, at = summary.body, shapes.milliseconds(summary.at)
        info = self._info(
            summary.id,
            TimesShape(created=shapes.milliseconds(summary.begun_at), completed=at),
            body.agent,
            body.model,
            variant=body.variant,
            cost=shapes.cost_number(body.cost),
            tokens=shapes.tokens_shape(body.tokens),
            finish=body.finish,
            summary=True,
        ).model_copy(update={"parent_id": request})
        session = self.overview.id
        texts = [shapes.text_shape(session, summary.id, each.id, each.body, at) for each in summary.parts]
        parts = [shapes.step_start_shape(session, summary.id), *texts]
        end = shapes.step_finish_shape(session, summary.id, body, max(each.id for each in parts))
        return ExportedMessage(info=info, parts=(*parts, end))

    def info(
        self, origin: SessionOrigin, totals: Totals, project: str, version: str, compacting: datetime | None = None
    ) -> SessionInfo:
        overview = self.overview
        variant = origin.variant if origin.model == overview.model else None
        rules = [RuleShape(**rule.model_dump(include={"permission", "pattern", "action"})) for rule in origin.rules]
        return SessionInfo(
            id=overview.id,
            slug=session_slug(overview.id),
            project_id=project,
            directory=overview.directory,
            path="" if overview.directory == self.worktree else relpath(overview.directory, self.worktree),
            title=overview.default_title or overview.title,
            agent=overview.agent,
            parent_id=overview.parent,
            model=shapes.session_model_shape(overview.model, variant) if overview.model else None,
            version=version,
            cost=shapes.cost_number(totals.cost.dollars),
            tokens=shapes.tokens_shape(totals.tokens).model_copy(update={"total": None}),
            summary=DiffSummary(**totals.changes.model_dump()),
            permission=tuple(rules) or None,
            time=TimesShape(
                created=shapes.milliseconds(overview.created_at),
                updated=shapes.milliseconds(overview.updated_at),
                compacting=shapes.milliseconds(compacting) if compacting else None,
                archived=shapes.milliseconds(overview.archive.at) if overview.archive else None,
            ),
        )

    def _message(self, details: MessageDetails) -> ExportedMessage:
        if isinstance(details.message, UserMessage):
            self._prompt = details.message.id
            if details.message.format is not None:
                self._corrections[details.message.turn] = details.message.format.corrections
            return self._user(details.message, details)
        return self._assistant(details.message, details)

    def _user(self, message: UserMessage, details: MessageDetails) -> ExportedMessage:
        """A prompt's message: agent and model are those that answer it."""
        info = UserInfo(
            id=message.id,
            session_id=self.overview.id,
            time=TimesShape(created=shapes.milliseconds(message.at)),
            agent=details.agent,
            model=shapes.model_shape(details.model, details.variant),
            system=message.system,
            tools=message.tools,
            format=shapes.output_format_shape(message.format) if message.format else None,
            summary=self._changes_at(message.id),
        )
        parts = [
            shapes.prompt_part_shape(info.session_id, info.id, *each, synthetic=message.synthetic)
            for each in enumerate(message.parts)
            if not isinstance(each[1], messages.ShellPart)  # the text has it, and its call follows
        ]
        referred = reference_shapes(info.session_id, self.overview.directory, message, details.read)
        return ExportedMessage(info=info, parts=(*parts, *referred))

    def _changes_at(self, prompt: MessageId) -> MessageSummary | None:
        return MessageSummary(body=self.changes.text) if self.changes and self.changes.prompt == prompt else None

    def _assistant(self, message: AssistantMessage, details: MessageDetails) -> ExportedMessage:
        body, broken = message.body, message.body.finish == FINISH_BROKEN_OFF
        info = self._info(
            message.id,
            self._time(message, details),
            body.agent,
            body.model,
            variant=body.variant,
            cost=shapes.cost_number(body.cost),
            tokens=shapes.tokens_shape(body.tokens),
            finish=None if broken else body.finish,
            structured=message.structured,
            error=self._error_at(message),
        )
        texts = iter(details.text_parts)
        parts = [
            self._call(part, message, details.call_times[part.id])
            if isinstance(part, messages.ToolPart)
            else shapes.text_shape(self.overview.id, message.id, next(texts), part, shapes.milliseconds(message.at))
            for part in message.parts
        ]
        session = self.overview.id
        begin = shapes.step_start_shape(session, message.id)
        whole = (begin, *self._retries(message), *parts)
        if not broken:
            whole += (shapes.step_finish_shape(session, message.id, body, max(each.id for each in (begin, *parts))),)
        return ExportedMessage(info=info, parts=whole)

    def _error_at(self, message: AssistantMessage) -> ErrorShape | None:
        """Why its turn ended with this answer; of what OpenCode has no name for, only if it broke off: OpenCode sends
        no answer with an error."""
        turn = self._ended.get(message.turn)
        if turn is None or turn.step != message.step:
            return None
        error = turn_error(turn, message, self._corrections.get(turn.id))
        if error.name == UNKNOWN and message.body.finish != FINISH_BROKEN_OFF:
            return None
        del self._ended[turn.id]
        return error

    def _retries(self, message: AssistantMessage) -> Iterator[PartShape]:
        for place, each in enumerate(self._failed[message.turn, message.step], 1):
            at = shapes.milliseconds(each.at)
            yield shapes.retry_shape(self.overview.id, message.id, place, each.attempt, each.kind, each.message, at)

    def _failure(self, turn: UnfinishedTurn) -> Iterator[ExportedMessage]:
        """A turn that came to no answer: it has no row, but a stable id."""
        if turn.id not in self._ended:
            return
        at = shapes.milliseconds(turn.ended_at)
        info = self._info(
            ending_message_id(turn.id, at),
            TimesShape(created=shapes.milliseconds(max(self._since or turn.opened_at, turn.opened_at)), completed=at),
            turn.agent,
            turn.model,
            cost=0,
            tokens=shapes.tokens_shape(usage.Tokens()),
            error=turn_error(turn, None, None),
        )
        yield ExportedMessage(info=info, parts=())

    def _info(self, id: MessageId, time: TimesShape, agent: str, model: str, **more: Any) -> AssistantInfo:
        named = shapes.model_shape(model)
        return AssistantInfo(
            id=id,
            session_id=self.overview.id,
            time=time,
            parent_id=self._prompt,
            provider_id=named.provider_id,
            model_id=named.model_id,
            agent=agent,
            mode=agent,
            path=Paths(cwd=self.overview.directory, root=self.worktree),
            **more,
        )

    def _time(self, message: AssistantMessage, details: MessageDetails) -> TimesShape:
        """A step's time: from the previous step's end, or the turn's start, to its calls' end."""
        started_at = max(self._since or details.opened, details.opened)
        settled = [timing.settled for timing in details.call_times.values()]
        ended = [at for at in settled if at is not None]
        self._since = max(message.at, *ended) if ended else message.at
        completed = shapes.milliseconds(self._since) if len(ended) == len(settled) else None
        return TimesShape(created=shapes.milliseconds(started_at), completed=completed)

    def _call(self, part: messages.ToolPart, message: AssistantMessage, timing: CallTimes) -> PartShape:
        return shapes.ToolShape(
            id=part.id,
            session_id=self.overview.id,
            message_id=message.id,
            call_id=part.provider_id,
            tool=part.tool,
            state=self._call_state(part, timing, _span(timing, message.at)),
        )

    def _call_state(self, part: messages.ToolPart, timing: CallTimes, span: SpanShape) -> CallStateShape:
        if part.outcome is None and timing.child is not None:
            return shapes.running_task_shape(part.arguments, self.overview.id, timing.child, timing.model, span)
        return shapes.call_state_shape(part.state, part.arguments, part.outcome, span)


def _span(timing: CallTimes, otherwise: datetime) -> SpanShape:
    """A refused or cancelled call has only an end."""
    begin = timing.claimed or timing.settled or otherwise
    end, cleared = (shapes.milliseconds(at) if at else None for at in (timing.settled, timing.cleared))
    return SpanShape(start=shapes.milliseconds(begin), end=end, compacted=cleared)


def _json(value: JsonValue) -> str:
    return json.dumps(value, indent=2)
