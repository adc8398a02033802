"""What is fetched, from where, and how much of it (security.md 7)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.reach import Reach, reach_of
from activities.web.web_address import parse_address
from activities.web.web_fetcher import WebFetcher
from tests import cases
from tests.activities.web.hostile_server import HostileNet, hostile_net
from tests.providers.connect_proxy import ConnectProxy, make_authority, serve_proxy
from workflows.domain.errors import FetchError
from workflows.domain.permissions.rules import Action, Rule, evaluate

LIMIT = 5 * 2**20


async def fetch(
    net: HostileNet, url: str, fetcher: WebFetcher | None = None, *, own: bool = False, **more: Any
) -> Fetched:
    """`own`: a person has named this address."""
    named = frozenset({parse_address(url).authority} if own else ())
    request = FetchRequest(**({"url": url, "limit": LIMIT, "seconds": 5, "named": named} | more))
    return await (fetcher or WebFetcher({}, net)).fetch(request)


@pytest.mark.parametrize("case", cases.load("ssrf"))
async def test_no_forbidden_target_is_reached_and_nothing_goes_on_without_end(case: cases.Case) -> None:
    """What rules ask about is refused: a fetcher has nobody to ask."""
    rules = tuple(
        Rule(permission="webfetch", pattern=key, action=each) for key, each in case.fields.get("rules", {}).items()
    )

    def may_fetch(url: str) -> bool:
        return not rules or evaluate("webfetch", url, rules).action is Action.ALLOW

    async with hostile_net(case.fields.get("server", "")) as net:
        seconds = 0.5 if "byte per second" in net.behaviour else 5
        try:
            found = await fetch(net, case.fields["url"], WebFetcher({}, net, may_fetch), seconds=seconds)
        except FetchError as error:
            assert str(error)
        else:
            assert "Authorization" in net.behaviour or (
                net.behaviour.startswith("Content-Length: 10") and found.content
            )
    assert [ip for ip in net.dialled if reach_of(ip) is not Reach.PUBLIC] == []
    assert not any("authorization:" in head.lower() or "cookie:" in head.lower() for head in net.asked)


@pytest.mark.parametrize("case", cases.load("ssrf_benign"))
async def test_what_is_public_is_fetched(case: cases.Case) -> None:
    address = parse_address(case.fields["url"])
    async with hostile_net() as net:
        found = await fetch(net, address.url.replace("https://", "http://"))
    assert (found.content, found.media_type, found.etag) == (b"hello", "text/plain", '"1"')
    assert f"host: {address.authority}\r\n" in net.asked[0].lower()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("HTTP://Example.COM.:80?q#f", "http://example.com/?q"),
        ("https://[0:0:0:0:0:0:0:1]:443/x", "https://[::1]/x"),
        ("http://a_b.example:8080/%20", "http://a_b.example:8080/%20"),
    ],
)
def test_an_address_has_one_form(written: str, meant: str) -> None:
    assert parse_address(written).url == meant


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("https://a.test/x", True),
        ("http://a.test:8080/", False),
        ("https://a.test:8443/", False),
        ("http://b.test/", False),
    ],
)
def test_a_host_is_the_same_by_its_usual_ports(other: str, same: bool) -> None:
    assert parse_address("http://a.test/").is_same_host(parse_address(other)) is same
    assert parse_address(other).is_same_host(parse_address("http://a.test/")) is same


async def test_a_private_host_is_reached_only_if_a_person_has_named_it() -> None:
    async with hostile_net() as net:
        url = f"http://localhost:{net.port}/"
        with pytest.raises(FetchError, match="localhost is no public host"):
            await fetch(net, url)
        with pytest.raises(FetchError, match="leads to 127.0.0.1, which is no public address"):
            await fetch(net, url.replace("localhost", "localtest.me"))
        assert (await fetch(net, url, own=True)).content == b"hello"
        for port in ("7233", "5432"):
            with pytest.raises(FetchError, match="no public address"):
                await fetch(net, f"http://localhost:{port}/", own=True)
        for host in ("169.254.169.254", "metadata.google.internal", "0.0.0.0"):
            with pytest.raises(FetchError, match="no public"):
                await fetch(net, f"http://{host}/", own=True)


async def test_a_host_that_was_named_leads_to_no_other_port() -> None:
    async with hostile_net("302 Found -> http://localhost:9/") as net:
        with pytest.raises(FetchError, match="localhost is no public host"):
            await fetch(net, f"http://localhost:{net.port}/", own=True)
    assert net.dialled == ["127.0.0.1"]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "gopher://user:s3cret@127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used_is_named(proxy: str) -> None:
    async with hostile_net(through=proxy) as net:
        with pytest.raises(FetchError, match="^the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used$"):
            await fetch(net, "http://a.test/")


async def test_what_has_not_changed_is_not_sent_again() -> None:
    async with hostile_net("unchanged") as net:
        first = await fetch(net, "http://a.test/")
        again = await fetch(net, "http://a.test/", etag=first.etag)
    assert (first.content, again.content) == (b"hello", None)


_ANSWER = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _ANSWER + b"Transfer-Encoding: chunked\r\n\r\n"
_LEADS = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
_PLACES = [b"http://[", b"http://xn--a/", b"http://a:99999/", b"/" + b"x" * 9000, b"//a\x01b/", b"http://[::1]x/"]
_HEADS = [b"ETag: a\0b", b"Content-Length: " + b"9" * 5000, b"a: b\r\n" * 50_000]
_BODIES = [b"-1\r\nx", b"f" * 30, b"1;" + b"x" * 200_000, b"0\r\n" + b"a: b\r\n" * 50_000]


@pytest.mark.parametrize(
    "raw",
    [
        *(_LEADS + place + b"\r\n\r\n" for place in _PLACES),
        *(_ANSWER + head + b"\r\n\r\nx" for head in _HEADS),
        *(_CHUNKED + body for body in _BODIES),
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
    ],
    ids=lambda raw: repr(raw)[-30:],
)
async def test_what_a_server_sends_ends_in_an_error_of_a_few_words(raw: bytes) -> None:
    async with hostile_net(raw=raw) as net:
        with pytest.raises(FetchError) as raised:
            await fetch(net, "http://a.test/")
    assert 0 < len(str(raised.value)) <= 300


async def test_small_pieces_do_not_hold_up_the_others() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with hostile_net(raw=_CHUNKED + b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n") as net:
        counting = asyncio.create_task(count_turns())
        assert (await fetch(net, "http://a.test/")).content == b"x" * 1000
        counting.cancel()
    assert turns > 1000


@pytest.mark.parametrize("validator", [b'"\xff"', b"x" * 1025, b"a\x01b"], ids=lambda each: repr(each)[:10])
async def test_what_cannot_be_sent_back_is_no_etag(validator: bytes) -> None:
    headers = b"ETag: " + validator + b"\r\nLast-Modified: " + validator
    async with hostile_net(raw=_ANSWER + headers + b"\r\nContent-Length: 1\r\n\r\nx") as net:
        found = await fetch(net, "http://a.test/")
    assert (found.content, found.etag, found.modified) == (b"x", None, None)


async def test_a_server_proves_the_name_that_was_asked_for(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca")
    environment = {"NODE_EXTRA_CA_CERTS": str(authority.file)}
    async with hostile_net(tls=authority.server) as net:
        fetcher = WebFetcher(environment, net)
        assert (await fetch(net, f"https://localhost:{net.port}/", fetcher, own=True)).content == b"hello"
        with pytest.raises(FetchError, match="certificate verify failed"):
            await fetch(net, "https://a.test/", fetcher)
        with pytest.raises(FetchError, match="certificate verify failed"):
            await fetch(net, f"https://localhost:{net.port}/", own=True)
        with pytest.raises(FetchError, match="without TLS"):
            await fetch(net, "http://a.test/", https_only=True)


async def test_a_proxy_is_asked_for_what_may_be_fetched(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca")
    async with serve_proxy(ConnectProxy()) as proxy, hostile_net(tls=authority.server, through=proxy.url) as net:
        fetcher = WebFetcher({"NODE_EXTRA_CA_CERTS": str(authority.file)}, net)
        url = f"https://localhost:{net.port}/"
        assert (await fetch(net, url, fetcher, own=True)).content == b"hello"
        with pytest.raises(FetchError, match="no public host"):
            await fetch(net, url, fetcher)
        with pytest.raises(FetchError, match="no public address"):
            await fetch(net, "https://localtest.me/", fetcher)
    assert proxy.asked == [f"localhost:{net.port}"] and net.dialled == []


async def test_tls_is_not_given_up_on_the_way(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca")
    async with hostile_net("302 Found -> http://a.test/", tls=authority.server) as net:
        fetcher = WebFetcher({"NODE_EXTRA_CA_CERTS": str(authority.file)}, net)
        with pytest.raises(FetchError, match="leads on to http://a.test/, without TLS"):
            await fetch(net, f"https://localhost:{net.port}/", fetcher, own=True)
