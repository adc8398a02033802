"""websearch asks the service that a person has chosen, and no other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.files.workspace import Workspace
from activities.tools.tool import Output
from activities.tools.websearch import WebSearchTool
from activities.turn_context import TurnContext
from activities.web.web_access import WebAccess
from tests.activities.tools.tool_calls import make_context
from tests.activities.web.hostile_server import HostileNet
from tests.activities.web.search_server import KEY, SearchServer, search_server
from tests.providers.connect_proxy import make_authority
from workflows.domain.config.config import Config, WebSettings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rulesets import Rulesets


class Searches:
    """Calls in a project whose person has chosen `search`."""

    def __init__(self, workspace: Workspace, server: SearchServer, search: str, environment: dict[str, str]) -> None:
        self.server = server
        self.net = HostileNet(port=server.port)
        self.turn = TurnContext(workspace, web=WebSettings(search=search))
        self.keys = Keys(workspace.data / "auth.json")
        self.web = WebAccess(self.keys, environment, self.net)

    async def search(self, query: str = "kites", **arguments: Any) -> Output:
        tool = WebSearchTool()
        params = tool.parse({"query": query, **arguments})
        plan = await tool.plan(params, self.turn)
        return await tool.run(params, plan, make_context(self.turn.workspace, turn=self.turn, web=self.web))


@asynccontextmanager
async def exa(workspace: Workspace, folder: Path, key: str | None = KEY) -> AsyncIterator[Searches]:
    authority = make_authority(folder / "authority", "api.exa.ai")
    environment = {"NODE_EXTRA_CA_CERTS": str(authority.file)} | ({"EXA_API_KEY": key} if key else {})
    async with search_server(authority.server) as server:
        yield Searches(workspace, server, "exa", environment)


@asynccontextmanager
async def searxng(workspace: Workspace) -> AsyncIterator[Searches]:
    async with search_server() as server:
        yield Searches(workspace, server, f"http://localhost:{server.port}/", {})


async def test_exa_is_asked_with_the_key_by_tls(workspace: Workspace, tmp_path: Path) -> None:
    async with exa(workspace, tmp_path) as searches:
        found = await searches.search(numResults=2, contextMaxCharacters=100, type="deep", livecrawl="preferred")
        ((wanted, headers),) = searches.server.asked
    contents = {"text": {"maxCharacters": 50}, "livecrawl": "preferred"}
    assert wanted == {"query": "kites", "type": "deep", "numResults": 2, "contents": contents}
    assert headers["Host"] == "api.exa.ai" and headers["Content-Type"] == "application/json"
    assert (found.title, found.metadata) == ("Web search: kites", {"provider": "exa"})
    assert found.output == (
        "Title: Kites and wind\nURL: https://kites.example/a?b=1\nPublished: 2026-01-02T00:00:00.000Z\n"
        f"{('All about kites. ' * 3)[:50].strip()}\n\nURL: https://b.example/"
    )


async def test_a_stored_key_goes_before_a_variable(workspace: Workspace, tmp_path: Path) -> None:
    async with exa(workspace, tmp_path, "another-key") as searches:
        with pytest.raises(ToolError, match=r"^exa could not be searched: the server answered with 401\.$"):
            await searches.search()
        searches.keys.set("exa", KEY)
        assert "Kites" in (await searches.search()).output


async def test_without_a_key_exa_is_not_asked(workspace: Workspace, tmp_path: Path) -> None:
    async with exa(workspace, tmp_path, None) as searches:
        with pytest.raises(ToolError, match="there is no key of Exa: .*`holdfast auth login exa`, or set EXA_API_KEY"):
            await searches.search()
        searches.keys.set("exa", "sk-“quoted”")
        with pytest.raises(ToolError, match="exa could not be searched: .*auth login exa") as raised:
            await searches.search()
    assert searches.server.asked == [] and "quoted" not in str(raised.value)


async def test_a_key_goes_nowhere_else(workspace: Workspace, tmp_path: Path) -> None:
    async with exa(workspace, tmp_path) as searches:
        searches.server.raw, searches.server.status = "", 307
        with pytest.raises(ToolError, match="leads on to https://api.exa.ai/elsewhere, which was not asked for"):
            await searches.search()
    assert len(searches.server.asked) == 1


async def test_a_searxng_in_the_own_network_is_asked_without_a_key(workspace: Workspace) -> None:
    async with searxng(workspace) as searches:
        found = await searches.search("kites & wind", numResults=3)
        ((wanted, headers),) = searches.server.asked
    assert wanted == {"q": "kites & wind", "format": "json"} and "x-api-key" not in headers
    assert found.output.count("URL: https://kites.example/a?b=1") == 3 and "part 2" in found.output
    assert found.metadata == {"provider": f"http://localhost:{searches.server.port}"}


@pytest.mark.parametrize("raw", ["", "no JSON", "[]", "{}", '{"results": [{"title": 3}]}', "[" * 100_000])
async def test_an_answer_that_is_none_is_an_error_of_a_few_words(workspace: Workspace, raw: str) -> None:
    async with searxng(workspace) as searches:
        searches.server.raw = raw
        with pytest.raises(ToolError, match=r"its answer cannot be read as results of a search\.$"):
            await searches.search()
        searches.server.status = 403
        with pytest.raises(ToolError, match=r"the server answered with 403\.$"):
            await searches.search()


async def test_nothing_found_is_said(workspace: Workspace) -> None:
    async with searxng(workspace) as searches:
        searches.server.raw = '{"results": []}'
        assert (await searches.search()).output == "No search results found. Please try a different query."


async def test_the_effect_names_the_service(workspace: Workspace) -> None:
    turn = TurnContext(workspace, web=WebSettings(search="http://search.example"))
    tool = WebSearchTool()
    plan = await tool.plan(tool.parse({"query": "kites"}), turn)
    (request,) = plan.requests
    assert (request.permission, request.patterns, request.always) == ("websearch", ("kites",), ("*",))
    assert plan.effect.arguments == {"query": "kites", "service": "http://search.example"} == request.metadata


@pytest.mark.parametrize("search", [None, "exa"])
async def test_it_is_there_only_where_a_person_has_chosen_a_service(workspace: Workspace, search: str | None) -> None:
    config = Config.model_validate({"holdfast": {"web": {"search": search}}})
    turn = TurnConfig(directory="/", worktree=None, config=config, rules=Rulesets())
    tool = WebSearchTool()
    assert (tool.offer(turn) is None) == (search is None)
    if search is None:
        with pytest.raises(ToolError, match=r"no web search here: a person chooses one by holdfast\.web\.search"):
            await tool.plan(tool.parse({"query": "x"}), TurnContext(workspace))


async def test_a_key_can_be_asked_for_by_name(workspace: Workspace) -> None:
    web = WebAccess(Keys(workspace.data / "auth.json"), {"EXA_API_KEY": KEY})
    assert web.key("exa") == SecretStr(KEY) and web.key("other") is None
