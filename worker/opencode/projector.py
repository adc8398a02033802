"""A session's events as OpenCode's, with their objects: live and replayed alike (protocol.md 7)."""

from collections import defaultdict
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from worker.opencode import ask_events, compaction_shapes, shapes
from worker.opencode.exported_shapes import ExportedMessage, Paths, SessionInfo
from worker.opencode.message_shapes import MessageShapes, step_end
from worker.opencode.message_stream import MessageStream, StreamEvent
from worker.opencode.shapes import ToolShape
from worker.opencode.turn_progress import AnswerProgress, CallEvent, TurnProgress, call_at, tool_part
from worker.stored_contents import (
    StoredCall,
    StoredTurn,
    note_of,
    part_of,
    prompt_of,
    reminders_of,
    stored_call,
    stored_message,
    stored_turn,
)
from workflows.domain.context.prune import may_be_cleared
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared
from workflows.domain.events.compactions import CompactionTaken
from workflows.domain.events.copies import MessageCopied
from workflows.domain.events.generations import (
    BEHIND_LIMIT,
    CompactionFailed,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    ModelRetry,
    PauseEnded,
)
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.events.sessions import MessageDeleted, SessionCreated, SessionDeleted, SessionTitled
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnModelChanged, TurnOpened
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, MessageId, PartId, Prefix, SessionId, TurnId, answer_id
from workflows.domain.messages import ReminderName, StoredPart, TextPart
from workflows.domain.prompt import PromptContent
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.messages import MessageDetails, StepFailure, SummaryDetails, SummaryPart

_TODOS: Final = "todos"  # in the metadata of a call that has replaced them
_DELETED: Final = TextPart(text="")
_BUSY: Final[dict[str, JsonValue]] = {"type": "busy"}
_IDLE: Final[dict[str, JsonValue]] = {"type": "idle"}


class _Place(NamedTuple):
    """Of a message that models are sent."""

    turn: TurnId
    step: int
    id: MessageId


class Projector:
    """Makes OpenCode's events of a session's, which it gets in order, from the first or from a turn's opening on.

    `info`: the session before the first of them; without it, no event is about the session itself. What was deleted
    since then has no objects, nor has of copies why a turn had no answer, or what said to go on after a summary.
    """

    def __init__(self, session: SessionId, paths: Paths, info: SessionInfo | None = None) -> None:
        self.info = info
        self._session = session
        self._shapes = MessageShapes(session, paths)
        self._stream = MessageStream(session)
        self._turn: TurnProgress | None = None
        self._answer: AnswerProgress | None = None
        self._prompt = MessageId("")
        self._since: datetime | None = None
        self._failures: dict[tuple[TurnId | None, int | None], list[StepFailure]] = defaultdict(list)
        self._places: list[_Place] = []
        self._summary: list[tuple[PartId, StoredPart]] = []  # the newest answer for a compaction
        self._unfollowed: list[SummaryDetails] = []  # summaries before the next answer
        self._results: dict[PartId, tuple[tuple[int, int], ToolShape]] = {}  # that models see, with their order

    def of_event(self, seen: EventWithContents) -> list[StreamEvent]:
        self._stream.at = shapes.milliseconds(datetime.fromisoformat(seen.record.at))
        match seen.record.event:
            case PromptAccepted() | PromptTaken() | PromptWithdrawn() as event:
                self._on_prompt(seen, event)
            case TurnOpened() | TurnModelChanged() | TurnEnded() as event:
                self._on_turn(seen, event)
            case MessageCompleted() as event:
                self._on_completed(seen, event)
            case CallPrepared() | CallClaimed() | CallFinished() | TaskStarted() as event:
                self._on_call(seen, event)
            case AskRaised() | AskAnswered() | AskClosed() as event:
                self._on_ask(seen, event)
            case MessageCopied() as event if event.turn is not None:
                self._on_copied(seen, event, event.turn)
            case _:
                self._on_other(seen)
        return self._stream.take()

    def of_delta(self, piece: PublishedDelta) -> list[StreamEvent]:
        """A piece of the answer that comes next, or what a running call writes."""
        if piece.source.startswith(Prefix.PART):
            message = self._answer.id if self._answer is not None else MessageId("")
            self._stream.show_output(message, PartId(piece.source), piece.body)
        elif self._turn is not None and (self._answer is None or piece.source != self._answer.id):
            self._stream.show_piece(piece, self._begun)
        return self._stream.take()

    def _begun(self, message: MessageId) -> ExportedMessage:
        assert self._turn is not None
        turn = self._turn.stored
        created = max(self._since or turn.opened_at, turn.opened_at)
        info = self._shapes.begun(message, self._prompt, turn.agent, turn.model, created)
        return ExportedMessage(info=info, parts=(shapes.step_start_shape(self._session, message),))

    def _on_other(self, seen: EventWithContents) -> None:
        match seen.record.event:
            case SessionCreated() if self.info is not None:
                self._stream.add("session.created", info=self.info)
                self._change_session()
            case SessionTitled(note=note):
                self._change_session(title=note_of(seen, note))
            case SessionDeleted() if self.info is not None:
                self._stream.add("session.deleted", info=self.info)
            case MessageDeleted(message=message):
                self._stream.remove(message)
            case ModelRetry() | PauseEnded() as event:
                self._on_pause(seen, event)
            case CompactionTaken() if self._turn is not None:
                self._turn.asked = True
            case CompactionFailed() if self._turn is not None:
                self._turn.asked = False
            case ContextCompacted() as event:
                self._compact(seen, event, answer_id(event.generation), self._summary)
            case ContextPruned(call=call) if call in self._results:
                self._clear_results(call)

    def _change_session(self, **changes: Any) -> None:
        if self.info is not None:
            time = self.info.time.model_copy(update={"updated": self._stream.at})
            self.info = self.info.model_copy(update={**changes, "time": time})
            self._stream.add("session.updated", info=self.info)

    def _on_prompt(self, seen: EventWithContents, event: PromptAccepted | PromptTaken | PromptWithdrawn) -> None:
        """It is a message at once: of the turn that will take it, only what it names is known."""
        details, info = prompt_of(seen, event.prompt), self.info
        if isinstance(event, PromptWithdrawn):
            self._stream.remove(event.prompt)
        elif details is not None and isinstance(event, PromptTaken):
            self._take_prompt(details, event.step)
        elif details is not None and isinstance(event, PromptAccepted):
            model = "" if info is None or info.model is None else f"{info.model.provider_id}/{info.model.id}"
            agent = event.agent or ("" if info is None else info.agent)
            self._show_prompt(details.model_copy(update={"agent": agent, "model": event.model or model}))
        if isinstance(event, PromptAccepted) and event.command is not None:
            content = PromptContent.model_validate(seen.contents.get(event.prompt) or {"parts": ()})
            arguments = content.command.arguments if content.command else ""
            named = {"name": event.command, "arguments": arguments, "messageID": event.prompt}
            self._stream.add("command.executed", **named)

    def _take_prompt(self, details: MessageDetails, step: int) -> None:
        message, turn = details.message, self._turn
        if turn is None or message.role != "user":
            return
        if message.format is not None:
            turn.corrections = message.format.corrections
        self._prompt = message.id
        self._places.append(_Place(turn.id, step, message.id))
        self._show_prompt(details.model_copy(update={"agent": turn.stored.agent, "model": turn.stored.model}), turn)

    def _show_prompt(self, details: MessageDetails, turn: TurnProgress | None = None) -> None:
        assert details.message.role == "user"
        if turn is not None:
            turn.prompts[details.message.id] = details
        self._stream.show(self._shapes.user(details.message, details))

    def _on_turn(self, seen: EventWithContents, event: TurnOpened | TurnModelChanged | TurnEnded) -> None:
        turn, stored = self._turn_of(seen, event.turn), stored_turn(seen, event.turn)
        if isinstance(event, TurnModelChanged):
            self._on_model_changed(event.model)
        elif isinstance(event, TurnOpened):
            self._change_session(agent=event.agent, model=shapes.session_model_shape(event.model, event.variant))
            self._stream.add("session.status", status=_BUSY)
        else:
            if turn is not None and stored is not None:
                self._end(turn, stored)
            self._stream.add("session.status", status=_IDLE)
            self._stream.add("session.idle")

    def _turn_of(self, seen: EventWithContents, id: TurnId) -> TurnProgress | None:
        if self._turn is None or self._turn.id != id:
            stored = stored_turn(seen, id)
            self._turn = None if stored is None else TurnProgress(id, stored)
        return self._turn

    def _on_model_changed(self, model: str) -> None:
        if (turn := self._turn) is not None:
            turn.stored = turn.stored.model_copy(update={"model": model})
            for details in list(turn.prompts.values()):
                self._show_prompt(details.model_copy(update={"model": model}), turn)
            for request in turn.requests:
                info = request.info.model_copy(update={"model": shapes.model_shape(model)})
                self._stream.show(request.model_copy(update={"info": info}))

    def _end(self, turn: TurnProgress, stored: StoredTurn) -> None:
        """What its error was stands at its last answer, or in a message of its own."""
        unfinished, answer = stored.unfinished(turn.id), self._answer
        self._stream.end_pieces(None)
        if unfinished is not None:
            if answer is not None and answer.turn is turn and (error := answer.error_at_end(stored)) is not None:
                answer.error = error
                self._show_answer(answer)
            else:
                self._stream.show(failure := self._shapes.failure(unfinished, self._prompt, self._since))
                error = failure.info.error if failure.info.role == "assistant" else None
            self._stream.add("session.error", error=error)
        for id in (*turn.prompts, *(request.info.id for request in turn.requests)):
            self._stream.forget(id)

    def _on_pause(self, seen: EventWithContents, event: ModelRetry | PauseEnded) -> None:
        if isinstance(event, PauseEnded):
            self._stream.add("session.status", status=_BUSY)
            return
        text = note_of(seen, event.note)
        if event.turn is not None and event.step is not None and event.kind != BEHIND_LIMIT:
            named = event.model_dump(include={"turn", "step", "attempt", "kind"})
            failure = StepFailure(**named, message=text, at=datetime.fromisoformat(seen.record.at))
            self._failures[event.turn, event.step].append(failure)
        if event.purpose.delays_turn:
            due = shapes.milliseconds(datetime.fromisoformat(event.next_at))
            status: dict[str, JsonValue] = {"attempt": event.attempt, "message": text, "next": due}
            self._stream.add("session.status", status={"type": "retry", **status})

    def _on_completed(self, seen: EventWithContents, event: MessageCompleted) -> None:
        texts = [(each.part, part_of(seen, each.part) or _DELETED) for each in event.parts]
        if event.purpose is Purpose.COMPACTION:
            self._summary = texts
        if event.turn is not None and event.step is not None:
            turn = self._turn_of(seen, event.turn)
            self._go_on(seen, event.generation)
            self._begin_answer(seen, turn, event.step, event.message, texts)
        if self.info is not None:
            cost = self.info.cost + shapes.cost_number(event.cost)
            self._change_session(cost=cost, tokens=shapes.add_tokens(self.info.tokens, event.tokens))

    def _begin_answer(
        self,
        seen: EventWithContents,
        turn: TurnProgress | None,
        step: int,
        id: MessageId,
        texts: list[tuple[PartId, StoredPart]],
    ) -> None:
        stored = stored_message(seen, id)
        if self._answer is not None:
            self._stream.forget(self._answer.id)
        self._stream.end_pieces(id)
        if turn is not None and stored is not None:
            failures = self._failures.pop((turn.id, step), [])
            self._answer = AnswerProgress(turn, step, id, stored, texts, failures, self._since)
            self._places.append(_Place(turn.id, step, id))
            self._show_answer(self._answer)

    def _show_answer(self, answer: AnswerProgress) -> None:
        message, details = answer.message, answer.details
        self._since = step_end(message, details) or message.at
        self._stream.show(
            self._shapes.assistant(
                message, details, self._prompt, answer.since, error=answer.error, failures=answer.failures
            )
        )

    def _on_call(self, seen: EventWithContents, event: CallEvent) -> None:
        id, answer = event.call, self._answer
        stored = stored_call(seen, id) if id is not None else None
        if id is None or stored is None:  # of a turn, or erased
            return
        call, at = call_at(event, stored), datetime.fromisoformat(seen.record.at)
        shape = self._shapes.call(tool_part(id, call), call.message, call.times, at)
        self._note_read(call)
        if answer is not None and answer.id == call.message:
            answer.calls[id] = call
            self._show_answer(answer)
        else:
            self._stream.add_part(shape)
        if isinstance(event, CallFinished) and call.outcome is not None:
            if _TODOS in call.outcome.metadata:
                self._stream.add("todo.updated", todos=call.outcome.metadata[_TODOS])
            if may_be_cleared(call.state, call.tool, call.outcome.output) and call.times.cleared is None:
                self._results[id] = (len(self._places), call.position), shape

    def _on_ask(self, seen: EventWithContents, event: AskRaised | AskAnswered | AskClosed) -> None:
        if isinstance(event, AskRaised):
            self._on_call(seen, event)
        type, properties = ask_events.of_event(seen, event)
        self._stream.add(type, **properties)

    def _note_read(self, call: StoredCall) -> None:
        """A prompt has the files that were read for it as parts."""
        turn = self._turn
        if turn is not None and call.ordered_by in turn.prompts and call.ordered_part is not None:
            details = turn.prompts[call.ordered_by]
            read = {**details.read, call.ordered_part: call.arguments}
            self._show_prompt(details.model_copy(update=dict(read=read)), turn)

    def _clear_results(self, last: PartId) -> None:
        """Those up to and with the last one."""
        end, _ = self._results[last]
        for id, (order, shape) in list(self._results.items()):
            if order <= end and shape.state.status == "completed":
                del self._results[id]
                time = shape.state.time.model_copy(update={"compacted": self._stream.at})
                self._stream.add_part(shape.model_copy(update={"state": shape.state.model_copy(update={"time": time})}))

    def _compact(
        self,
        seen: EventWithContents,
        event: ContextCompacted | MessageCopied,
        id: MessageId,
        texts: list[tuple[PartId, StoredPart]],
    ) -> None:
        """That a summary was asked for, and the summary."""
        stored, turn = stored_message(seen, id), self._turn
        if stored is None or turn is None:
            return
        covered = [
            at for at, each in enumerate(self._places) if each.turn == event.turn and each.step <= (event.step or 0)
        ]
        self._places = self._places[covered[-1] + 1 if covered else 0 :]
        tail = next((each.id for each in self._places if each.id < id), None)
        self._results.clear()
        summary = SummaryDetails(
            id=id,
            body=stored.body,
            parts=tuple(SummaryPart(id=name, body=part) for name, part in texts),
            begun_at=stored.begun_at,
            at=stored.at,
            agent=turn.stored.agent,
            model=turn.stored.model,
            media=event.media,
            asked=turn.asked,
        )
        turn.asked = False
        request = compaction_shapes.request(self._session, summary, tail)
        turn.requests.append(request)
        self._stream.show(request)
        self._stream.show(self._shapes.summary(summary, request.info.id))
        self._stream.forget(id)
        if isinstance(event, ContextCompacted):
            self._unfollowed.append(summary)
            self._stream.add("session.compacted")

    def _go_on(self, seen: EventWithContents, generation: GenerationId) -> None:
        """What told the model to go on after a summary."""
        summaries, turn = self._unfollowed, self._turn
        self._unfollowed = []
        reminders = reminders_of(seen, generation)
        text = next((each.text for each in reminders if each.name is ReminderName.CONTINUE), None)
        for summary in summaries:
            if text is None or turn is None:
                return
            current = summary.model_copy(update={"model": turn.stored.model})
            message = compaction_shapes.continuation(self._session, current, text)
            turn.requests.append(message)
            self._stream.show(message)
            self._prompt = message.info.id

    def _on_copied(self, seen: EventWithContents, event: MessageCopied, id: TurnId) -> None:
        turn = self._turn_of(seen, id)
        details = prompt_of(seen, event.message) if event.role == "user" else None
        texts = [
            (each.part, part_of(seen, each.part) or _DELETED)
            for each in event.contents
            if each.kind in ("text", "reasoning")
        ]
        if details is not None:
            self._take_prompt(details, details.message.step)
        elif event.role == "summary":
            self._compact(seen, event, event.message, texts)
        elif event.step is not None:
            self._begin_answer(seen, turn, event.step, event.message, texts)
            self._copy_calls(seen, event)

    def _copy_calls(self, seen: EventWithContents, event: MessageCopied) -> None:
        if (answer := self._answer) is None:
            return
        for each in event.contents:
            if each.kind == "call" and (call := stored_call(seen, each.part)) is not None:
                self._note_read(call)
                answer.calls[each.part] = call
        answer.error = answer.error_at_end(answer.turn.stored)
        self._show_answer(answer)
