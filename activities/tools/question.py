"""question: asks a person, and waits for the answer."""

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.questions import Option, Question


class OfferedOption(Params):
    label: str = Field(min_length=1)
    description: str = ""


class AskedQuestion(Params):
    question: str = Field(min_length=1)
    header: str = ""
    options: list[OfferedOption] = []
    multiple: bool = False
    custom: SkipJsonSchema[bool] = True  # no model needs to know it: own words are an answer, too


class QuestionParams(Params):
    questions: list[AskedQuestion] = Field(min_length=1)


class QuestionTool(BuiltInTool[QuestionParams]):
    """Its effect is the answer, which stands in the ask's row before the call runs."""

    name = "question"
    recovery = Recovery.REPEATABLE
    machine_bound = False
    params = QuestionParams
    display = CallDisplay(kind=DisplayKind.QUESTION, verb="ask you")

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        return {} if turn_config.delegation.ancestors == 0 else None

    async def plan(self, params: QuestionParams, turn: TurnContext) -> Plan:
        questions = tuple(_question(each) for each in params.questions)
        arguments = params.model_dump(mode="json")
        effect = Effect(tool=self.name, arguments=arguments, directory=str(turn.workspace.directory))
        return Plan(requests=(), effect=effect, questions=questions)

    async def run(self, params: QuestionParams, plan: Plan, context: ToolContext) -> Output:
        answers = await context.answers()
        if answers is None:
            raise ToolError("No answer to these questions was recorded.")
        pairs = (
            f'"{question.question}"="{", ".join(answer) or "Unanswered"}"'
            for question, answer in zip(plan.questions, answers, strict=True)
        )
        number = len(plan.questions)
        return Output(
            title=f"Asked {number} question{'' if number == 1 else 's'}",
            output=f"User has answered your questions: {', '.join(pairs)}. "
            "You can now continue with the user's answers in mind.",
            metadata={"answers": [list(answer) for answer in answers]},
        )


def _question(asked: AskedQuestion) -> Question:
    """A question without options can only be answered in own words."""
    options = tuple(Option(label=each.label, description=each.description) for each in asked.options)
    return Question(
        question=asked.question,
        header=asked.header,
        options=options,
        multiple=asked.multiple,
        custom=asked.custom or not options,
    )
