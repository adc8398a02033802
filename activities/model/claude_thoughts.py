"""Claude's thoughts in the newest turn: its services judge them by the turn, not by the answer."""

from collections.abc import Callable, Iterator

from activities.model.port import AssistantInput, InputMessage, ModelRequest, UserInput
from activities.model.request_json import JsonDict
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
    return isinstance(message, AssistantInput) and bool(message.thoughts)


def remove_thoughts(answer: AssistantInput) -> AssistantInput:
    if not answer.thoughts:
        return answer
    return answer.model_copy(update={"parts": tuple(p for p in answer.parts if not isinstance(p, ReasoningPart))})
