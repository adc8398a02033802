"""What is stored of a conversation and was not sent to a model, and why."""

from collections.abc import Collection, Iterator, Mapping

from activities.model.context_split import estimate_text
from activities.model.media import select_attachments, select_embedded
from activities.model.port import ModelFacts
from activities.store.attempts import UnansweredStep
from activities.store.compactions import CompactionRow
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import AssistantMessage, ReasoningPart, ToolPart, Transcript, UserMessage
from workflows.domain.sent_request import LeftOut


def before_summary(summarised: CompactionRow, number: int, messages: int) -> Iterator[LeftOut]:
    """`number`: of the turn that the summary ends in; `messages`: how many it stands for."""
    named = f"compaction {summarised.generation}"
    yield LeftOut(
        what=f"{messages:,} {'message' if messages == 1 else 'messages'} up to turn {number}, step {summarised.step}",
        why=f"the summary of {named} stands for them",
    )
    if not summarised.media:
        yield LeftOut(
            what="the pictures and documents that were there at that compaction",
            why="the provider had refused the conversation as too long",
        )


def unanswered_steps(steps: Collection[UnansweredStep]) -> Iterator[LeftOut]:
    for each in steps:
        ended = f" (its turn: {each.reason})" if each.reason else ""
        yield LeftOut(
            what=f"the answer of turn {each.number}, step {each.step}",
            why=f"it was interrupted or never came, so none was stored{ended}",
        )


def of_entries(
    transcript: Transcript,
    facts: ModelFacts,
    cleared: Collection[PartId],
    numbers: Mapping[TurnId, int],
    thoughtless: MessageId | None = None,
) -> Iterator[LeftOut]:
    yield from _cleared_results(transcript, cleared)
    newest = next((entry for entry in transcript if entry.id == thoughtless), None)
    if newest is not None:
        yield LeftOut(
            what=f"the thoughts up to turn {numbers[newest.turn]}, step {newest.step}",
            why="what is before them has changed, and the provider takes thoughts back after the same only",
        )
    for entry in transcript:
        where = f"of turn {numbers[entry.turn]}, step {entry.step}"
        match entry:
            case UserMessage():
                yield from _of_prompt(entry, facts, where)
            case AssistantMessage():
                yield from _of_answer(entry, facts, cleared, where)


def _cleared_results(transcript: Transcript, cleared: Collection[PartId]) -> Iterator[LeftOut]:
    found = [call for call in _calls(transcript) if call.id in cleared]
    if found:
        tokens = sum(estimate_text(call.outcome.output) for call in found if call.outcome)
        results = "result" if len(found) == 1 else "results"
        yield LeftOut(what=f"{len(found):,} {results} of tools, ~{tokens:,} tokens", why="cleared by pruning, as old")


def _of_prompt(prompt: UserMessage, facts: ModelFacts, where: str) -> Iterator[LeftOut]:
    if left := len(prompt.text) - prompt.shown_length:
        yield LeftOut(
            what=f"{left:,} characters from the middle of the prompt {where}", why="alone it was too long for its model"
        )
    for reason in select_embedded(prompt, facts)[1]:
        yield LeftOut(what=f"an attachment of the prompt {where}", why=reason)


def _of_answer(
    answer: AssistantMessage, facts: ModelFacts, cleared: Collection[PartId], where: str
) -> Iterator[LeftOut]:
    if answer.parts and all(isinstance(part, ReasoningPart) for part in answer.parts):
        yield LeftOut(what=f"the thoughts {where}", why="an answer of thoughts alone is not sent again")
    for call in _calls((answer,)):
        for reason in select_attachments(call, facts)[1] if call.id not in cleared else ():
            yield LeftOut(what=f"an attachment of {call.tool} {where}", why=reason)


def _calls(transcript: Transcript) -> Iterator[ToolPart]:
    for entry in transcript:
        if isinstance(entry, AssistantMessage):
            yield from (part for part in entry.parts if isinstance(part, ToolPart))
