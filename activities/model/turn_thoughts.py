"""Claude's thoughts in the newest turn: its services judge them by the turn, not by the answer."""

from activities.model.port import AssistantInput, InputMessage, ModelRequest, UserInput
from workflows.domain.messages import ReasoningPart


def answers_of_turn(messages: tuple[InputMessage, ...]) -> tuple[AssistantInput, ...]:
    """The answers that the next one goes on from, the newest first.

    Attachments, notes and prompts between calls end no turn; a prompt behind an answer without calls does.
    """
    answers: list[AssistantInput] = []
    prompted = False
    for message in reversed(messages):
        if isinstance(message, UserInput):
            prompted = True
        elif isinstance(message, AssistantInput):
            if prompted and not message.calls:
                break
            answers.append(message)
            prompted = False
    return tuple(answers)


def without_thoughts(request: ModelRequest) -> tuple[InputMessage, ...]:
    """The request's messages, the answers of its turn without thoughts; all others are the same objects."""
    messages = request.messages
    if not request.encoder.find(messages, _thinks):
        return messages
    thinking = {id(answer) for answer in answers_of_turn(messages) if _thinks(answer)}
    return tuple(
        _without(message) if isinstance(message, AssistantInput) and id(message) in thinking else message
        for message in messages
    )


def _thinks(message: InputMessage) -> bool:
    return isinstance(message, AssistantInput) and bool(message.thoughts)


def _without(answer: AssistantInput) -> AssistantInput:
    return answer.model_copy(update={"parts": tuple(p for p in answer.parts if not isinstance(p, ReasoningPart))})
