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

from pydantic import JsonValue

from worker.opencode import compaction_shapes, shapes
from worker.opencode.compaction_shapes import Position
from worker.opencode.exported_shapes import (
    DiffSummary,
    ExportedMessage,
    MessageSummary,
    Paths,
    RuleShape,
    SessionInfo,
)
from worker.opencode.message_shapes import MessageShapes, step_end
from worker.opencode.sanitize import sanitize, sanitize_message
from worker.opencode.shapes import ErrorShape, TimesShape
from worker.opencode.slug import session_slug
from worker.opencode.turn_errors import error_of_answer
from workflows.domain.ids import MessageId, TurnId
from workflows.domain.messages import AssistantMessage, UserMessage
from workflows.domain.views.messages import MessageDetails, StepFailure, SummaryDetails
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
        self._shapes = MessageShapes(self.overview.id, Paths(cwd=self.overview.directory, root=self.worktree))
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
        yield self._shapes.summary(summary, request.info.id)
        if summary.go_on is not None:
            going_on = compaction_shapes.continuation(session, summary, summary.go_on)
            self._prompt = going_on.info.id
            yield going_on

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
        message = details.message
        if isinstance(message, UserMessage):
            self._prompt = message.id
            if message.format is not None:
                self._corrections[message.turn] = message.format.corrections
            return self._shapes.user(message, details, self._changes_at(message.id))
        before, self._since = self._since, step_end(message, details) or message.at
        failed = self._failed[message.turn, message.step]
        error = self._error_at(message)
        return self._shapes.assistant(message, details, self._prompt, before, error=error, failures=failed)

    def _changes_at(self, prompt: MessageId) -> MessageSummary | None:
        return MessageSummary(body=self.changes.text) if self.changes and self.changes.prompt == prompt else None

    def _error_at(self, message: AssistantMessage) -> ErrorShape | None:
        turn = self._ended.get(message.turn)
        error = None if turn is None else error_of_answer(turn, message, self._corrections.get(message.turn))
        if error is not None:
            del self._ended[message.turn]
        return error

    def _failure(self, turn: UnfinishedTurn) -> Iterator[ExportedMessage]:
        if turn.id in self._ended:
            yield self._shapes.failure(turn, self._prompt, self._since)


def _json(value: JsonValue) -> str:
    return json.dumps(value, indent=2)
