"""plan_enter, plan_exit: have a person decide that another agent takes over (opencode.md 6.5)."""

from typing import Final

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.agents.agent import Agent
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.questions import Option, Question

_YES: Final = "Yes"
_NO: Final = "No"


class SwitchParams(Params):
    summary: str = ""


class AgentSwitchTool(BuiltInTool[SwitchParams]):
    """Its effect is a prompt for another agent, with an id of the call's: an attempt that repeats it adds none."""

    recovery = Recovery.REPEATABLE
    machine_bound = False
    params = SwitchParams

    def __init__(self, name: str, agent: Agent, question: str) -> None:
        self.name = name
        self.agent = agent.name
        self.question = question
        self.display = CallDisplay(kind=DisplayKind.QUESTION, verb="ask you", subject="summary")

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        """Only people's turns are handed over, and only to an agent that can work here."""
        target = turn_config.delegation.agent(self.agent)
        usable = turn_config.delegation.ancestors == 0 and target is not None and target.selectable
        return {} if usable and turn_config.agent.name != self.agent else None

    async def plan(self, params: SwitchParams, turn: TurnContext) -> Plan:
        options = (
            Option(label=_YES, description=f"The agent {self.agent} takes over, in a turn of its own."),
            Option(label=_NO, description="It goes on as it does now; your own words tell it how."),
        )
        asked = Question(question=f"{params.summary}\n\n{self.question}".strip(), header=self.agent, options=options)
        effect = Effect(tool=self.name, arguments=params.model_dump(), directory=str(turn.workspace.directory))
        return Plan(requests=(), effect=effect, questions=(asked,))

    async def run(self, params: SwitchParams, plan: Plan, context: ToolContext) -> Output:
        answers = await context.answers()
        if answers is None:
            raise ToolError("No answer to this question was recorded.")
        (answer,) = answers
        if answer != (_YES,):
            words = [each for each in answer if each != _NO]
            return Output(title="Not agreed", output="\n\n".join([render_prompt("switch/declined"), *words]))
        text = render_prompt(f"switch/{self.name}", summary=params.summary).strip()
        prompt = Prompt.of_text(text, agent=self.agent, mode=PromptMode.QUEUE)
        await context.queue_prompt(prompt.model_copy(update={"synthetic": True}))
        return Output(title=f"Agreed: {self.agent} follows", output=render_prompt("switch/agreed", agent=self.agent))
