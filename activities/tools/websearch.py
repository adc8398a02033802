"""websearch: asks the service that a person has chosen for pages on the net."""

from typing import Final, Literal

from pydantic import Field

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.search_services import SearchQuery, SearchResult, service_named
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import FetchError, ToolError, UsageError
from workflows.domain.permissions.requests import PermissionRequest

_NOTHING: Final = "No search results found. Please try a different query."


class WebSearchParams(Params):
    query: str = Field(min_length=1)
    num_results: int = Field(default=8, alias="numResults", gt=0, le=100)
    livecrawl: Literal["fallback", "preferred"] | None = None
    type: Literal["auto", "fast", "deep"] = "auto"
    context_max_characters: int = Field(default=10_000, alias="contextMaxCharacters", gt=0, le=100_000)


class WebSearchTool(BuiltInTool[WebSearchParams]):
    """Its effect names the service: a query goes to no other than was decided about. Repeatable: it changes nothing."""

    name = "websearch"
    recovery = Recovery.REPEATABLE
    machine_bound = False
    params = WebSearchParams
    display = CallDisplay(kind=DisplayKind.READ, verb="search the web", subject="query")

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        return {} if turn_config.config.holdfast.web.search else None

    async def plan(self, params: WebSearchParams, turn: TurnContext) -> Plan:
        if turn.web.search is None:
            raise ToolError(
                "There is no web search here: a person chooses one by holdfast.web.search of their configuration."
            )
        arguments = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
        service = {"service": service_named(turn.web.search).name}
        return Plan(
            requests=(
                PermissionRequest(
                    permission=self.name, patterns=(params.query,), always=("*",), metadata=arguments | service
                ),
            ),
            effect=Effect(tool=self.name, arguments=arguments | service, directory=str(turn.workspace.directory)),
        )

    async def run(self, params: WebSearchParams, plan: Plan, context: ToolContext) -> Output:
        service = service_named(str(plan.effect.arguments["service"]))
        query = SearchQuery(
            text=params.query,
            results=params.num_results,
            characters=params.context_max_characters,
            kind=params.type,
            livecrawl=params.livecrawl,
        )
        try:
            found = await service.search(query, context.web)
        except (FetchError, UsageError) as error:
            raise ToolError(f"{service.name} could not be searched: {str(error).rstrip('.')}.") from error
        share = max(1, params.context_max_characters // params.num_results)
        output = "\n\n".join(_render(each, share) for each in found) or _NOTHING
        return Output(title=f"Web search: {params.query}", output=output, metadata={"provider": service.name})


def _render(result: SearchResult, characters: int) -> str:
    named = {"Title": result.title, "URL": result.url, "Published": result.published}
    lines = [f"{name}: {' '.join(value.split())}" for name, value in named.items() if value]
    text = (result.text or "").strip()
    return "\n".join([*lines, *([text[:characters]] if text else [])])
