"""Claude's thoughts in the newest turn: its services judge them by the turn, not by the answer."""

from activities.model.port import AssistantInput, InputMessage, UserInput
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


def without_thoughts(
    messages: tuple[InputMessage, ...], answers: tuple[AssistantInput, ...]
) -> tuple[InputMessage, ...]:
    """The messages, with `answers` of theirs without thoughts; all others are the same objects."""
    thinking = {id(each) for each in answers for part in each.parts if isinstance(part, ReasoningPart)}
    if not thinking:
        return messages
    return tuple(
        _without(message) if isinstance(message, AssistantInput) and id(message) in thinking else message
        for message in messages
    )


def _without(answer: AssistantInput) -> AssistantInput:
    return answer.model_copy(update={"parts": tuple(p for p in answer.parts if not isinstance(p, ReasoningPart))})
