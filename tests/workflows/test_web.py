"""Calls of webfetch and websearch in sessions: who is asked, where they do not go, and what stays of them."""

import json
from pathlib import Path
from typing import Any

from activities.web.web_address import WebAddress, parse_address
from activities.web.web_fetcher import Network
from tests import cases
from tests.activities.web.hostile_server import PUBLIC, HostileNet, hostile_net
from tests.activities.web.search_server import KEY, search_server
from tests.harness import Harness
from tests.polling import wait_until
from tests.providers.connect_proxy import make_authority
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply

DONE = ScriptedAnswer(text="Done.")


def fetches(*urls: str, **arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer(
        tools=tuple(ScriptedCall(name="webfetch", arguments={"url": url, **arguments}) for url in urls)
    )


class CaseNet(Network):
    """The net of the case that is played."""

    def __init__(self) -> None:
        self.net = HostileNet()

    def proxy(self, address: WebAddress) -> str | None:
        return None

    async def resolve(self, host: str, port: int) -> list[str]:
        return await self.net.resolve(host, port)

    def dial(self, ip: str, port: int) -> tuple[str, int]:
        return self.net.dial(ip, port)


class RebindingNet(HostileNet):
    """A name that leads to a public host once, and into this machine from then on."""

    async def resolve(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if self.dialled else [PUBLIC]


async def settled(harness: Harness, session: SessionId) -> list[tuple[CallState, str]]:
    return [(call.state, call.outcome.output if call.outcome else "") for call in await harness.calls(session)]


async def test_no_session_reaches_a_forbidden_target(open_harness: Open) -> None:
    """The addresses alone are one answer's calls; each case with a server of its own is a turn."""
    every = [case.fields for case in cases.entries("ssrf")]
    alone, served = ([case for case in every if bool(case["server"]) is each] for each in (False, True))
    answers = [fetches(*(case["url"] for case in alone)), DONE]
    for case in served:
        answers += [fetches(case["url"], timeout=0.5 if "byte per" in case["server"] else 10), DONE]
    net, dialled, asked = CaseNet(), list[str](), list[str]()
    async with open_harness(*answers) as harness, harness.running_worker(network=net):
        session = await harness.start_session("Fetch them.")
        await harness.ended(session)
        assert net.net.dialled == []
        for turn, case in enumerate(served, 2):
            async with hostile_net(case["server"]) as net.net:
                await harness.client.prompt(session, "The next one.")
                await harness.ended(session, turn)
            dialled, asked = [*dialled, *net.net.dialled], [*asked, *net.net.asked]
        calls = await harness.calls(session)

    assert set(dialled) == {PUBLIC} and len(calls) == len(every)
    assert not any("authorization:" in head.lower() or "cookie:" in head.lower() for head in asked)
    for case, call in zip([*alone, *served], calls, strict=True):
        harmless = "Authorization" in case["server"] or case["server"].startswith("Content-Length: 10")
        assert harmless or call.state is CallState.FAILED, case["url"]


async def test_what_is_public_is_fetched(open_harness: Open) -> None:
    urls = [
        parse_address(each.fields["url"]).url.replace("https://", "http://") for each in cases.entries("ssrf_benign")
    ]
    async with (
        hostile_net() as net,
        open_harness(fetches(*urls), DONE) as harness,
        harness.running_worker(network=net),
    ):
        session = await harness.start_session("Fetch them.")
        await harness.ended(session)
        found = await settled(harness, session)
    assert found == [(CallState.DONE, "hello")] * len(urls) and len(net.asked) == len(urls)


async def test_a_person_is_asked_once_for_a_host_and_again_where_it_leads(open_harness: Open) -> None:
    async with (
        hostile_net("302 -> http://other.test/there") as net,
        open_harness(
            fetches("http://a.test/1?q=x"), fetches("http://a.test/2"), fetches("http://other.test/there"), DONE
        ) as harness,
        harness.running_worker(network=net),
    ):
        harness.configure_person(model={}, permission={"webfetch": "ask"})
        session = await harness.start_session("Look it up.")
        (first,) = await harness.wait_for_asks(session)
        assert net.asked == []
        (shown,) = await harness.client.inbox.asks(session=session)
        await harness.answer(first, Reply.ALWAYS)
        (second,) = await harness.wait_for_asks(session, 2)
        heads = [head.split("\r\n")[:1] for head in net.asked]
        await harness.answer(second, Reply.REJECT)
        await harness.ended(session)
        one, two, three = await harness.calls(session)

    assert heads == [["GET /1?q=x HTTP/1.1"], ["GET /2 HTTP/1.1"]] == [head.split("\r\n")[:1] for head in net.asked]
    assert shown.request is not None and "http://a.test/1?q=x" in str(shown)
    for call in (one, two):
        assert call.outcome is not None and "leads on to http://other.test/there" in call.outcome.output
    assert three.state is CallState.REFUSED


async def test_a_name_that_leads_elsewhere_on_the_way_is_looked_up_and_refused_again(open_harness: Open) -> None:
    net = RebindingNet("302 -> http://a.test/next")
    async with (
        hostile_net("302 -> http://a.test/next") as server,
        open_harness(fetches("http://a.test/"), DONE) as harness,
        harness.running_worker(network=net),
    ):
        net.port = server.port
        session = await harness.start_session("Look it up.")
        await harness.ended(session)
        ((state, text),) = await settled(harness, session)
    assert state is CallState.FAILED and "a.test leads to 127.0.0.1, which is no public address" in text
    assert net.dialled == [PUBLIC] and len(server.asked) == 1


async def test_a_long_page_is_shortened_and_complete_in_a_file(open_harness: Open) -> None:
    page = b"<h1>Start</h1>" + b"<p>line</p>" * 3000 + b"<h2>End</h2>"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n".encode()
    async with (
        hostile_net(raw=head + page) as net,
        open_harness(fetches("http://a.test/"), DONE) as harness,
        harness.running_worker(network=net),
    ):
        session = await harness.start_session("Look it up.")
        await harness.ended(session)
        (call,) = await harness.calls(session)
        history = (await harness.history(session)).to_json()
    assert call.outcome is not None and "# Start" in call.outcome.output
    path = call.outcome.metadata["outputPath"]
    assert isinstance(path, str) and len(call.outcome.output) < 60_000 and path in call.outcome.output
    assert Path(path).read_text().endswith("line\n\n## End")
    assert "a.test" not in history


async def test_a_stop_ends_an_open_fetch(open_harness: Open) -> None:
    async with (
        hostile_net("1 byte per second for ever") as net,
        open_harness(fetches("http://a.test/", timeout=100), DONE) as harness,
        harness.running_worker(network=net),
    ):
        session = await harness.start_session("Look it up.")
        await wait_until(lambda: bool(net.asked))
        await harness.client.stop(session)
        await harness.ended(session)
        ((state, text),) = await settled(harness, session)
    assert state is CallState.CANCELLED and "stopped" in text.lower()


async def test_a_search_and_its_key(open_harness: Open, tmp_path: Path) -> None:
    """The key goes to the service alone: not to the model, the log, or history."""
    authority = make_authority(tmp_path / "authority", "api.exa.ai")
    search = ScriptedAnswer(tools=(ScriptedCall(name="websearch", arguments={"query": "kites"}),))
    async with search_server(authority.server) as server, open_harness(search, DONE) as harness:
        harness.configure_person(model={}, permission={"websearch": "ask"}, holdfast={"web": {"search": "exa"}})
        more = {"EXA_API_KEY": KEY, "NODE_EXTRA_CA_CERTS": str(authority.file)}
        environment = {**harness.settings.environment, **more}
        async with harness.running_worker(network=HostileNet(port=server.port), environment=environment):
            session = await harness.start_session("Search.")
            (ask,) = await harness.wait_for_asks(session)
            assert server.asked == []
            await harness.answer(ask)
            await harness.ended(session)
            ((state, text),) = await settled(harness, session)
            history = (await harness.history(session)).to_json()
            events = [event.model_dump_json() for event in await harness.events(session)]
            assert harness.model.last_request is not None
            sent = json.dumps(harness.model.last_request.body)
    assert state is CallState.DONE and "https://kites.example/a?b=1" in text
    assert [headers["x-api-key"] for _, headers in server.asked] == [KEY]
    assert KEY not in "".join([history, *events, sent]) and '"name": "websearch"' in sent


async def test_a_search_that_nobody_has_chosen_is_not_offered(open_harness: Open) -> None:
    search = ScriptedAnswer(tools=(ScriptedCall(name="websearch", arguments={"query": "kites"}),))
    async with open_harness(search, DONE) as harness, harness.running_worker():
        harness.configure(holdfast={"web": {"search": "http://localhost:1"}})  # a project's does not count
        session = await harness.start_session("Search.")
        await harness.ended(session)
        ((state, text),) = await settled(harness, session)
        assert harness.model.last_request is not None
        offered = {tool["function"]["name"] for tool in harness.model.last_request.body["tools"]}
    assert "webfetch" in offered and "websearch" not in offered
    assert state is CallState.FAILED and "There is no web search here" in text
