"""What became of a context that was too long, in a sentence."""

from worker.api.events import EventWithContents
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.event_contents import prompt_of
from worker.cli.render.formatting import format_price
from worker.stored_contents import note_of
from workflows.domain.events.event import Event
from workflows.domain.events.generations import CompactionFailed, ContextCompacted, ContextPruned
from workflows.domain.events.prompts import PromptShortened
from workflows.domain.events.turns import TurnModelChanged
from workflows.domain.usage import Cost


def context_sentence(event: Event, seen: EventWithContents) -> str | None:
    """The sentence, which begins in lower case."""
    match event:
        case ContextCompacted():
            after = f"its conversation now has about {event.after:,}"
            return f"compacted: a request had {event.before:,} tokens, {after}, {format_price(Cost.of(event.cost))}"
        case ContextPruned():
            return f"cleared old results of tools from the context: {event.tokens:,} tokens"
        case CompactionFailed():
            return f"the conversation was not compacted: {escape_prose(note_of(seen, event.note)).rstrip('.')}"
        case PromptShortened(shown=shown):
            length = len(prompt_of(seen, event.prompt))
            read = [] if shown is None else [f"{shown:,} of its {length:,} characters"]
            read += ["not the files that it holds"] if event.without_files else []
            return f"a prompt is too long for the model, which reads {' and '.join(read)}"
        case TurnModelChanged(model=model, note=None):
            return f"the turn goes on with {escape_exact(model)}, as a person says"
        case TurnModelChanged(model=model, note=str(note)):
            return f"the turn goes on with {escape_exact(model)}: {escape_prose(note_of(seen, note)).rstrip('.')}"
    return None
