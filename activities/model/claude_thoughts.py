"""Claude's thoughts in the newest turn: its services judge them by the turn, not by the answer.

What Anthropic has carried out itself in an answer stands among the details of thoughts, and is none.
"""

from collections.abc import Callable, Iterable, Iterator

from activities.model.port import AnswerPart, AssistantInput, InputMessage, ModelRequest, UserInput
from activities.model.request_json import JsonDict
from activities.model.served_work import is_served
from workflows.domain.messages import ReasoningPart


def began_without_thought(messages: tuple[InputMessage, ...], is_thought: Callable[[JsonDict], bool]) -> bool:
    """Whether the next answer continues answers that all lack a thought in their details."""
    begun = False
    for answer in answers_of_turn(messages):
        if any(map(is_thought, answer.details)):
            return False
        begun = True
    return begun


def answers_of_turn(messages: tuple[InputMessage, ...]) -> Iterator[AssistantInput]:
    """The answers that the next one goes on from, the newest first.

    Attachments, notes and prompts between calls end no turn; a prompt after an answer without calls does.
    """
    prompted = False
    for message in reversed(messages):
        if isinstance(message, UserInput):
            prompted = True
        elif isinstance(message, AssistantInput):
            if prompted and not message.calls:
                break
            yield message
            prompted = False


def without_thoughts(request: ModelRequest) -> tuple[InputMessage, ...]:
    """The request's messages, the answers of its turn without thoughts; all others are the same objects."""
    messages = request.messages
    if not request.encoder.find(messages, _thinks):
        return messages
    thinking = {id(answer) for answer in answers_of_turn(messages) if _thinks(answer)}
    return tuple(
        remove_thoughts(message) if isinstance(message, AssistantInput) and id(message) in thinking else message
        for message in messages
    )


def _thinks(message: InputMessage) -> bool:
    thoughts = message.thoughts if isinstance(message, AssistantInput) else ()
    return any(thought.text or not all(map(is_served, thought.details)) for thought in thoughts)


def remove_thoughts(answer: AssistantInput) -> AssistantInput:
    return answer.model_copy(update={"parts": tuple(unthought(answer.parts))}) if answer.thoughts else answer


def unthought(parts: Iterable[AnswerPart]) -> Iterator[AnswerPart]:
    """The parts without thoughts."""
    for part in parts:
        if not isinstance(part, ReasoningPart):
            yield part
        elif served := tuple(filter(is_served, part.details)):
            yield ReasoningPart(text="", details=served)
