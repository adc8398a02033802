"""What a person is asked where a conversation does not fit its model, although it was compacted."""

from typing import Final

from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import Option, Question, QuestionRequest

AGAIN: Final = "Try again"
END: Final = "End"
_MOST_REASON: Final = 500  # characters


def overflow_question(model: str, reason: str) -> QuestionRequest:
    question = Question(
        question=f"{reason[:_MOST_REASON]} How shall the turn go on? A model's name (provider/model) has that one take "
        "over.",
        header="Context",
        options=(
            Option(label=AGAIN, description=f"{model} is asked again, and it is compacted anew"),
            Option(label=END, description="the turn stops now"),
        ),
        model=True,
    )
    return QuestionRequest(questions=(question,))


def read_overflow_choice(decision: AskDecision) -> str:
    """AGAIN, END, or the model that takes over. A dismissed question ends the turn."""
    if decision.reply is Reply.REJECT or not decision.answers:
        return END
    (chosen,) = decision.answers[0]
    return chosen.strip()
