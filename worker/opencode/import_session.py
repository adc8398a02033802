"""Makes a session of an export: its prompts and answers, with texts, thoughts, calls and files.

What else it says is kept as notes. Thoughts come without their providers' signatures.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from activities.calls import outcomes
from activities.new_ids import new_id
from worker.opencode.import_file import (
    FileMessage,
    FileMessagePart,
    ForeignCompaction,
    ForeignError,
    ForeignMessageInfo,
    ForeignState,
    ForeignText,
    ForeignTool,
    ImportFile,
)
from worker.opencode.turn_errors import ABORTED
from workflows.domain.agents.built_in import BUILD
from workflows.domain.close_reason import CloseReason
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.copied_messages import (
    CopiedAnswer,
    CopiedCall,
    CopiedPart,
    CopiedPrompt,
    CopiedTurn,
    ImportedMessage,
    ImportedSession,
)
from workflows.domain.ids import GenerationId, MessageId, PartId, Prefix, SessionId, TurnId, answer_id
from workflows.domain.messages import (
    FINISH_BROKEN_OFF,
    AnswerMetadata,
    CallState,
    FilePart,
    Outcome,
    ReasoningPart,
    TextPart,
)
from workflows.domain.prompt import PromptContent
from workflows.domain.titles import replace_unprintable
from workflows.domain.usage import Tokens, decimal_text

# what exports make anew: parts, and fields of `info`
_DERIVED: Final = ("step-start", "step-finish", "compaction")
_DERIVED_INFO: Final = {"path", "mode"} | {each.alias for each in ForeignMessageInfo.model_fields.values()} - {"error"}
_MOST: Final = 10**12  # tokens, and dollars: no sum of them overflows
_NAME: Final = 200  # characters of an agent or a model
_TASK: Final = re.compile(r'<task id="([^"]*)" state="(\w+)"')
_NO_TOOL_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


class SessionImport:
    """One file, as a session that `author` begins."""

    def __init__(self, found: ImportFile, turn_config: TurnConfig, author: str, *, new_ids: bool) -> None:
        self._found = found
        self._turn_config = turn_config
        self._author = author
        self._ids = _new_ids(found) if new_ids else {id: id for id in found.ids}
        self._messages: list[ImportedMessage] = []
        self._turn: int | None = None  # index of the message that has opened it
        self._turns = 0
        self._newest: CopiedAnswer | None = None
        self._answer_before: dict[str, CopiedAnswer | None] = {}  # each message of the file
        self._at_work = _find_tasks_at_work(found)
        self._tails: dict[str, str] = {}  # by the message that asks for a summary: the first that is sent besides it

    def make(self) -> ImportedSession:
        for message in self._found.messages:
            self._add(message)
        return ImportedSession(
            id=SessionId(self._ids[self._found.info.id]),
            title=_named(self._found.info.title, "Imported"),
            origin=self._found.info.id,
            digest=self._found.digest,
            info=self._found.body,
            turn_config=self._turn_config,
            messages=tuple(self._messages),
        )

    def _add(self, message: FileMessage) -> None:
        info = message.info
        self._answer_before[info.id] = self._newest
        for each in message.parts:
            if isinstance(each.content, ForeignCompaction) and each.content.tail_start_id in self._answer_before:
                self._tails[info.id] = each.content.tail_start_id
        if info.role == "user":
            self._turn = None
            seen: CopiedPrompt | CopiedAnswer | None = self._prompt(message)
        else:
            seen = self._answer(message)
        imported = ImportedMessage(
            id=MessageId(self._ids[info.id]),
            origin=info.id,
            user=info.role == "user",
            unknown=_unknown(message, seen),
            turn=self._new_turn(info, seen.turn) if seen is not None and self._opens_turn(seen) else None,
            seen=seen,
        )
        if imported.turn is not None:
            self._turn = len(self._messages)
        self._messages.append(imported)
        if isinstance(seen, CopiedAnswer) and seen.newest is None:
            self._newest = seen
            begun = {"opened_at": _moment(info.time.created)} if seen.step == 1 else {}
            self._change_turn({**begun, "step": seen.step, "ended_at": seen.at, **_ending(info.error)})
        elif seen is None and info.error is not None and self._turn is not None:
            self._change_turn({"ended_at": _moment(info.time.completed or info.time.created), **_ending(info.error)})

    def _opens_turn(self, seen: CopiedPrompt | CopiedAnswer) -> bool:
        is_summary = isinstance(seen, CopiedAnswer) and seen.newest is not None
        return self._turn is None and not is_summary

    def _new_turn(self, info: ForeignMessageInfo, id: TurnId) -> CopiedTurn:
        self._turns += 1
        at = _moment(info.time.created)
        return CopiedTurn(
            id=id,
            number=self._turns,
            turn_config=self._turn_config.id,
            agent=_named(info.agent, BUILD.name),
            model=_model(info),
            variant=None,
            step=0,
            reason=CloseReason.DONE,
            error=None,
            opened_at=at,
            ended_at=at,
        )

    def _change_turn(self, update: Mapping[str, object]) -> None:
        assert self._turn is not None
        opener = self._messages[self._turn]
        assert opener.turn is not None
        self._messages[self._turn] = opener.model_copy(update={"turn": opener.turn.model_copy(update=update)})

    @property
    def _open_turn(self) -> CopiedTurn | None:
        return None if self._turn is None else self._messages[self._turn].turn

    def _prompt(self, message: FileMessage) -> CopiedPrompt | None:
        """The copied prompt; None if it has nothing for a model."""
        parts = [part for each in message.parts if (part := _prompt_part(each)) is not None]
        if not any(isinstance(part, FilePart) or part.text.strip() for part in parts):
            return None
        return CopiedPrompt(
            id=MessageId(self._ids[message.info.id]),
            origin=message.info.id,
            turn=TurnId(new_id(Prefix.TURN)),
            step=1,
            author=self._author,
            variant=message.info.model.variant if message.info.model else None,
            content=PromptContent(parts=tuple(parts), system=message.info.system, tools=message.info.tools),
            at=_moment(message.info.time.created),
        )

    def _answer(self, message: FileMessage) -> CopiedAnswer | None:
        """The copied answer; None if it is empty."""
        info, id = message.info, self._ids[message.info.id]
        parts, calls = tuple(self._texts(message)), tuple(self._calls(message))
        turn = self._open_turn
        answer = CopiedAnswer(
            generation=GenerationId(f"{Prefix.GENERATION}{id[3:]}"),
            origin=info.id,
            turn=turn.id if turn else TurnId(new_id(Prefix.TURN)),
            step=turn.step + 1 if turn else 1,
            body=_metadata(info),
            parts=parts,
            calls=calls,
            at=_moment(info.time.completed or info.time.created),
        )
        if info.summary is True and parts and self._newest is not None:
            last = self._last_before_tail(info.parent_id) or self._newest
            newest = answer_id(self._newest.generation)
            return answer.model_copy(update={"turn": last.turn, "step": last.step, "newest": newest, "calls": ()})
        return answer if parts or calls else None

    def _last_before_tail(self, request: str | None) -> CopiedAnswer | None:
        """The last answer that the summary of a request stands for, if the file says so."""
        tail = self._tails.get(request or "")
        return None if tail is None else self._answer_before[tail]

    def _texts(self, message: FileMessage) -> Iterator[CopiedPart]:
        for position, each in enumerate(message.parts):
            if isinstance(each.content, ForeignText) and each.content.text.strip():
                id, text = PartId(self._ids[each.part.id]), each.content.text
                thought = each.part.type == "reasoning"
                body = ReasoningPart(text=text) if thought else TextPart(text=text, phase=each.content.phase)
                yield CopiedPart(id=id, position=position, body=body)

    def _calls(self, message: FileMessage) -> Iterator[CopiedCall]:
        for position, each in enumerate(message.parts):
            if isinstance(each.content, ForeignTool):
                id, state = PartId(self._ids[each.part.id]), each.content.state
                at_work = each.part.id in self._at_work
                settled, outcome = outcomes.interrupted("not_copied") if at_work else _settlement(state)
                yield CopiedCall(
                    id=id,
                    position=position,
                    provider_id=id,
                    tool=_NO_TOOL_NAME.sub("_", each.content.tool)[:64] or "tool",
                    arguments=state.input,
                    state=settled,
                    outcome=outcome,
                    claimed_at=_moment(state.time.start) if state.time.start is not None else None,
                    settled_at=_moment(state.time.end or message.info.time.created),
                )


def _prompt_part(each: FileMessagePart) -> TextPart | FilePart | None:
    """What a model sees of a part of a prompt: a text, or a file that the export contains."""
    match each.content:
        case ForeignText(text=text, ignored=ignored) if each.part.type == "text" and not ignored:
            return TextPart(text=text)
    return each.file


def _unknown(message: FileMessage, seen: CopiedPrompt | CopiedAnswer | None) -> dict[str, JsonValue]:
    """What the file says of a message that its prompt or answer does not hold."""
    others = [each for each in message.parts if each.part.type not in _DERIVED]
    if isinstance(seen, CopiedPrompt):
        others = [each for each in others if _prompt_part(each) is None]
    if isinstance(seen, CopiedAnswer):
        others = [each for each in others if not isinstance(each.content, ForeignText | ForeignTool)]
    parts: list[JsonValue] = [each.body for each in others]
    info: dict[str, JsonValue] = {name: value for name, value in message.body.items() if name not in _DERIVED_INFO}
    return ({"info": info} if info else {}) | ({"parts": parts} if parts else {})


def _ending(error: ForeignError | None) -> dict[str, object]:
    """How an answer with this error ends its turn."""
    if error is None:
        return {"reason": CloseReason.DONE, "error": None}
    if error.name == ABORTED:
        return {"reason": CloseReason.STOPPED, "error": None}
    return {"reason": CloseReason.FAILED, "error": _named(str(error.data.get("message") or ""), error.name)}


def _new_ids(found: ImportFile) -> Mapping[str, str]:
    """New ids in the order of the file, as clients sort by ids."""
    ids = {found.info.id: new_id(Prefix.SESSION)}
    for message in found.messages:
        ids[message.info.id] = new_id(Prefix.MESSAGE)
        ids |= {each.part.id: new_id(Prefix.PART) for each in message.parts}
    return ids


def _find_tasks_at_work(found: ImportFile) -> set[str]:
    """The parts of calls whose background tasks have no result in the file."""
    begun: dict[str, str] = {}  # the session of each
    for each in (part for message in found.messages for part in message.parts):
        match each.content:
            case ForeignTool(state=ForeignState(status="completed", output=output, metadata={"background": True})):
                if (task := _TASK.match(output)) is not None and task[2] == "running":
                    begun[each.part.id] = task[1]
            case ForeignText(text=text) if begun:
                ended = {id for id, state in _TASK.findall(text) if state != "running"}
                begun = {part: id for part, id in begun.items() if id not in ended}
    return set(begun)


def _settlement(state: ForeignState) -> tuple[CallState, Outcome]:
    if state.status == "completed":
        return CallState.DONE, Outcome(title=state.title, output=state.output, metadata=state.metadata)
    if state.status == "error":
        return CallState.FAILED, Outcome(output=state.error, error=True, metadata=state.metadata)
    return outcomes.interrupted("not_copied")


def _metadata(info: ForeignMessageInfo) -> AnswerMetadata:
    tokens = info.tokens
    return AnswerMetadata(
        finish=_named(info.finish, FINISH_BROKEN_OFF if info.error else "unknown"),
        agent=_named(info.agent, BUILD.name),
        model=_model(info),
        variant=info.variant,
        tokens=Tokens(
            total=None if tokens.total is None else _count(tokens.total),
            input=_count(tokens.input),
            output=_count(tokens.output),
            reasoning=_count(tokens.reasoning),
            cache_read=_count(tokens.cache.read),
            cache_write=_count(tokens.cache.write),
        ),
        cost=decimal_text(Decimal(str(min(max(info.cost, 0), _MOST)))),
    )


def _model(info: ForeignMessageInfo) -> str:
    provider, model = info.provider_id, info.model_id
    if info.model is not None:
        provider, model = info.model.provider_id, info.model.model_id
    return _named(f"{provider}/{model}" if provider and model else None, "none")


def _named(text: str | None, otherwise: str) -> str:
    return replace_unprintable(text or "").strip()[:_NAME] or otherwise


def _count(number: float) -> int:
    return int(min(max(number, 0), _MOST))


def _moment(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
