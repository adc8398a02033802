"""webfetch: forms of what is there, whom it asks about, where it does not go."""

import asyncio
import base64
import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from activities.credentials.keys import Keys
from activities.files.workspace import Workspace
from activities.tools.tool import Output
from activities.tools.webfetch import WebFetchTool
from activities.turn_context import TurnContext
from activities.web.web_access import WebAccess
from tests import cases
from tests.activities.tools.tool_calls import make_context
from tests.activities.web.hostile_server import PUBLIC, HostileNet, hostile_net
from workflows.domain.config.config import WebSettings
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError
from workflows.domain.ids import GrantId
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

ASK, ALLOW, DENY = {"*": Action.ASK}, {"*": Action.ALLOW}, {"*other.test*": Action.DENY}
PAGE = b"<head><title>T</title><style>p{}</style></head><h1>Hello</h1><p>a <b>b</b> <a href=/x>c</a><script>x</script>"


def answer(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(content)}", "", ""])
    return head.encode() + content


async def fetch(
    net: HostileNet, turn: TurnContext, url: str = "http://a.test/p", web: WebAccess | None = None, **arguments: Any
) -> Output:
    tool = WebFetchTool()
    params = tool.parse({"url": url, **arguments})
    plan = await tool.plan(params, turn)
    web = web or WebAccess(Keys(turn.workspace.data / "auth.json"), {}, net)
    return await tool.run(params, plan, make_context(turn.workspace, turn=turn, web=web))


async def fetched(workspace: Workspace, raw: bytes, **arguments: Any) -> Output:
    async with hostile_net(raw=raw) as net:
        return await fetch(net, TurnContext(workspace), **arguments)


def rules(*sets: dict[str, Action]) -> Rulesets:
    return Rulesets.of(
        *(
            tuple(Rule(permission="webfetch", pattern=each, action=action) for each, action in one.items())
            for one in sets
        )
    )


async def planned(workspace: Workspace, url: str) -> Plan:
    return await WebFetchTool().plan(WebFetchTool().parse({"url": url}), TurnContext(workspace))


@pytest.mark.parametrize(
    ("form", "text"),
    [("markdown", "# Hello\n\na **b** [c](http://a.test/x)"), ("text", "Hello\n\na b c"), ("html", PAGE.decode())],
)
async def test_a_page_comes_in_the_form_that_is_wanted(workspace: Workspace, form: str, text: str) -> None:
    found = await fetched(workspace, answer(PAGE, "Content-Type: text/html"), format=form)
    assert (found.title, found.output) == ("http://a.test/p (text/html)", text)


async def test_other_texts_come_as_they_are(workspace: Workspace) -> None:
    for kind in ("text/plain", "application/json", "image/svg+xml", "text/markdown"):
        assert (await fetched(workspace, answer(b"<b> *x*", f"Content-Type: {kind}"))).output == "<b> *x*"
    packed = answer(
        gzip.compress("“é”".encode("cp1252")), "Content-Encoding: gzip", "Content-Type: text/plain; charset=latin1"
    )
    assert (await fetched(workspace, packed)).output == "“é”"


async def test_a_page_without_text_says_so(workspace: Workspace) -> None:
    found = await fetched(workspace, answer(b"<div id=app></div><script>x</script>", "Content-Type: text/html"))
    assert found.output.startswith("(The page has no text: scripts may write it.")


async def test_a_server_is_told_which_form_is_wanted_and_nothing_of_us(workspace: Workspace) -> None:
    async with hostile_net() as net:
        await fetch(net, TurnContext(workspace), format="html")
        await fetch(net, TurnContext(workspace))
    html, markdown = (dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line) for head in net.asked)
    assert html["accept"].startswith("text/html") and markdown["accept"].startswith("text/markdown")
    assert html.keys() == {"host", "accept", "accept-encoding", "user-agent", "Connection"}


async def test_pictures_and_pdfs_are_attached_whatever_their_type_is_called(
    workspace: Workspace, tmp_path: Path
) -> None:
    Image.new("RGB", (3000, 10)).save(tmp_path / "wide.png")
    pdf = b"%PDF-1.7\n"
    for content, kind, text in (
        ((tmp_path / "wide.png").read_bytes(), "application/octet-stream", "Image fetched successfully\n"),
        (pdf, "application/pdf", "PDF fetched successfully"),
    ):
        found = await fetched(workspace, answer(content, f"Content-Type: {kind}"))
        (attached,) = found.attachments
        assert found.output.startswith(text) and attached["type"] == "file"
    assert attached["url"] == f"data:application/pdf;base64,{base64.b64encode(pdf).decode()}"


@pytest.mark.parametrize("kind", ["application/zip", "video/mp4", ""])
async def test_what_cannot_be_shown_is_named(workspace: Workspace, kind: str) -> None:
    raw = answer(b"PK\x03\x04\0\0\0", *([f"Content-Type: {kind}"] if kind else []))
    with pytest.raises(ToolError, match=rf"is no text, picture or PDF, but {kind or 'of no type'} \(7 bytes\)"):
        await fetched(workspace, raw)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (answer(b"", status="404 Not Found"), "http://a.test/p cannot be fetched: the server answered with 404."),
        (answer(b"x" * 5_242_881), "http://a.test/p cannot be fetched: it has more than 5,120 KiB."),
        (b"", "http://a.test/p cannot be fetched: "),
    ],
    ids=["404", "large", "gone"],
)
async def test_a_failure_names_the_address_and_the_reason(workspace: Workspace, raw: bytes, error: str) -> None:
    with pytest.raises(ToolError) as raised:
        await fetched(workspace, raw or b"\r\n\r\n")
    assert str(raised.value).startswith(error)


async def test_few_pages_are_converted_at_once_and_all_in_the_end(workspace: Workspace) -> None:
    async with hostile_net(raw=answer(PAGE, "Content-Type: text/html")) as net:
        web = WebAccess(Keys(workspace.data / "auth.json"), {}, net)
        found = await asyncio.gather(*(fetch(net, TurnContext(workspace), web=web) for _ in range(10)))
    assert {each.output for each in found} == {"# Hello\n\na **b** [c](http://a.test/x)"}


async def test_the_time_is_limited(workspace: Workspace) -> None:
    async with hostile_net("1 byte per second for ever") as net:
        with pytest.raises(ToolError, match=r"it was not there within 0\.3 seconds"):
            await fetch(net, TurnContext(workspace), timeout=0.3)
    for wrong in (0, -1, "soon"):
        with pytest.raises(ToolError, match="invalid arguments"):
            WebFetchTool().parse({"url": "http://a.test/", "timeout": wrong})


async def test_the_effect_is_the_exact_address_and_always_is_the_host(workspace: Workspace) -> None:
    plan = await planned(workspace, "HTTPS://Docs.Example.:443/a?q=1#part")
    (request,) = plan.requests
    assert plan.effect.arguments["url"] == "https://docs.example/a?q=1"
    assert (request.permission, request.patterns) == ("webfetch", ("https://docs.example/a?q=1",))
    assert request.always == ("https://docs.example/*",)
    assert (await planned(workspace, "http://[2606:4700::1111]:8080/")).requests[0].always == (
        "http://[2606:4700::1111]:8080/*",
    )


HOSTS = [each for each in cases.load("always_patterns") if "'approved': 'webfetch" in str(each.values)]


@pytest.mark.parametrize("case", HOSTS)
async def test_a_host_that_was_allowed_covers_no_other(workspace: Workspace, case: cases.Case) -> None:
    (approved,) = (await planned(workspace, case.input["approved"].removeprefix("webfetch "))).requests
    (other,) = (await planned(workspace, case.input["must_still_ask"].removeprefix("webfetch "))).requests
    ask = Rule(permission="webfetch", pattern="*", action=Action.ASK)
    grant = Grant(
        id=GrantId("grt_1"),
        permission="webfetch",
        patterns=approved.always,
        author="tester",
        time=datetime.now(UTC),
        asked=(ask,),
    )
    (page,) = (await planned(workspace, "https://docs.example/other?page=2")).requests
    assert evaluate_request(page, (ask,), [grant]).action is Action.ALLOW
    assert evaluate_request(other, (ask,), [grant]).action is Action.ASK


@pytest.mark.parametrize("case", cases.load("ssrf"))
async def test_no_forbidden_target_is_reached(workspace: Workspace, case: cases.Case) -> None:
    judged = case.fields.get("rules", {"*": "allow"})
    turn = TurnContext(workspace, rules({key: Action(each) for key, each in judged.items()}))
    async with hostile_net(case.fields.get("server", "")) as net:
        try:
            await fetch(net, turn, case.fields["url"], timeout=0.5 if "byte per" in net.behaviour else 10)
        except ToolError as error:
            assert str(error)
        else:
            assert "Authorization" in net.behaviour or net.behaviour.startswith("Content-Length: 10")
    assert set(net.dialled) <= {PUBLIC}


async def test_hosts_of_the_own_network_are_reached_only_if_a_person_has_named_them(workspace: Workspace) -> None:
    async with hostile_net() as net:
        url, named = f"http://localhost:{net.port}/", WebSettings(private_hosts=(f"localhost:{net.port}",))
        with pytest.raises(ToolError, match=r"localhost is no public host\. Only a person can allow .*private_hosts"):
            await fetch(net, TurnContext(workspace), url)
        with pytest.raises(ToolError, match="localtest.me leads to 127.0.0.1"):
            await fetch(net, TurnContext(workspace, web=named), url.replace("localhost", "localtest.me"))
        assert (await fetch(net, TurnContext(workspace, web=named), url)).output == "hello"
        net.behaviour = f"302 -> {url}"
        with pytest.raises(ToolError, match="http://a.test/p cannot be fetched: localhost is no public host"):
            await fetch(net, TurnContext(workspace, rules(ALLOW), web=named))
    assert net.dialled == ["127.0.0.1", PUBLIC]


@pytest.mark.parametrize(
    ("judged", "place", "error"),
    [
        ((ALLOW,), "http://other.test/", None),
        ((ALLOW, ASK), "/y", None),
        ((ASK,), "http://a.test:8080/", "leads on to http://a.test:8080/, and has not been followed"),
        ((ASK,), "/y", None),
        ((ASK,), "http://other.test/", "leads on to http://other.test/, and has not been followed"),
        ((ALLOW, ASK), "http://other.test/", "has not been followed: a person is asked about each host"),
        ((ALLOW | DENY,), "http://other.test/", "your rules deny webfetch of http://other.test/"),
        ((ALLOW, ALLOW | DENY), "http://other.test/", "your rules deny webfetch of http://other.test/"),
        (
            (ALLOW | {"*/secret*": Action.ASK},),
            "/secret",
            "leads on to http://a.test/secret, and has not been followed",
        ),
        ((ALLOW | {"*/secret*": Action.DENY},), "/secret", "your rules deny webfetch of http://a.test/secret"),
    ],
)
async def test_a_redirection_is_judged_by_the_rules(
    workspace: Workspace, judged: tuple[dict[str, Action], ...], place: str, error: str | None
) -> None:
    """What rules ask about is another call's; on the host that was asked about, it goes on."""
    turn = TurnContext(workspace, rules(*judged))
    async with hostile_net(f"302 -> {place}") as net:
        with pytest.raises(ToolError) as raised:
            await fetch(net, turn)
    if error is None:
        assert "leads on more than 5 times" in str(raised.value) and len(net.asked) == 6
    else:
        assert error in str(raised.value) and len(net.asked) == 1
