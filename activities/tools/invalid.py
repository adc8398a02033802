"""invalid: what a call becomes that names no tool or whose arguments are no JSON, so that a model can correct it."""

from activities.files.place import Place
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Effect, Recovery


class InvalidParams(Params):
    """The tool that was meant, and what is wrong with the call."""

    tool: str
    error: str


class Invalid(Tool[InvalidParams]):
    """Does nothing and says what was wrong; never offered to a model, never asked about."""

    name = "invalid"
    recovery = Recovery.REPEATABLE
    params = InvalidParams

    async def plan(self, params: InvalidParams, place: Place) -> Plan:
        effect = Effect(tool=self.name, arguments=params.model_dump(mode="json"), directory=str(place.directory))
        return Plan(requests=(), effect=effect)

    async def run(self, params: InvalidParams, plan: Plan, around: Surroundings) -> Output:
        said = f"The arguments provided to the tool are invalid: {params.error}"
        return Output(title="Invalid Tool", output=said)
