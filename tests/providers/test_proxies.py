"""A user's proxy and certificate authority, by the environment and by the configuration, on every wire."""

import base64
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model.endpoint import Endpoint, Route
from activities.model.endpoints import EndpointResolver
from activities.model.headers import redact_failure
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from activities.project.config_references import content_digest, detach_from_file
from activities.redact import Redactor
from tests.providers.aws_token_server import serve_roles, write_profile
from tests.providers.connect_proxy import LOGIN, Authority, ConnectProxy, make_authority, serve_proxy
from tests.providers.double_requests import GO, collect_answer
from tests.providers.google_token_server import TokenServer, serve_tokens, write_service_account
from tests.providers.provider_double import ProviderDouble, RefusedRequest, serve_double
from workflows.domain.config.config import Config
from workflows.domain.config.references import accept_file
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.provider_failure import ProviderFailure

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),  # litellm's
    pytest.mark.filterwarnings("ignore:The load_credentials_from_.* method:DeprecationWarning"),  # google-auth's
]

MODELS = {  # of each wire
    "chat": "mistral/mistral-large-latest",
    "responses": "openai/gpt-5.3-codex",
    "anthropic": "anthropic/claude-opus-4-5",
    "gemini": "google/gemini-2.5-pro",
    "ollama": "ollama/llama3.1",
    "bedrock": "amazon-bedrock/amazon.nova-pro-v1:0",
    "vertex": "google-vertex/gemini-2.5-pro",
    "litellm": "llamagate/some-model",
}
OWN = [wire for wire in MODELS if wire != "litellm"]
PASSWORD = LOGIN.partition(":")[2]
REACHED = "reached through everything"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    authorities = "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", *authorities):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def provider(authority: Authority) -> AsyncIterator[ProviderDouble]:
    """It says that it was reached."""

    def check(request: web.Request, body: Any) -> Any:
        raise RefusedRequest(400, {"error": {"message": REACHED}, "message": REACHED})

    async with serve_double(ProviderDouble(check), authority.server) as double:
        yield double


class SignIn(NamedTuple):
    """How a provider is signed in to, and the hosts that are asked before it."""

    options: dict[str, Any]
    hosts: tuple[str, ...] = ()


@pytest.fixture
async def sign_in(
    wire: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SignIn]:
    """With servers of AWS's or Google's that give credentials."""
    if wire == "bedrock":
        async with serve_roles(authority.server) as roles:
            for name, value in write_profile(tmp_path, roles).items():
                monkeypatch.setenv(name, value)
            yield SignIn({"profile": "work", "region": "us-east-1"}, (urlsplit(roles).netloc,))
    elif wire == "vertex":
        async with serve_tokens(TokenServer("t"), authority.server) as tokens:
            file = write_service_account(tmp_path / "google.json", tokens.url)
            yield SignIn({"googleAuthOptions": {"keyFilename": str(file)}}, (urlsplit(tokens.url).netloc,))
    else:
        yield SignIn({"apiKey": "k"})


async def reach(port: WireRouter, wire: str, url: str, **options: Any) -> Endpoint:
    model = MODELS[wire]
    address = f"{url}/v1" if wire not in ("ollama", "bedrock") else url
    direct = wire == "litellm"  # which asks no provider that has an address of the user's
    written = {**({"apiKey": "k"} if direct else {"baseURL": address}), **(options or {"apiKey": "k"})}
    config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": written}}})
    resolved = await EndpointResolver(Keys(Path("nowhere.json")), dict(os.environ), port).resolve(model, config)
    return resolved.endpoint.model_copy(update={"base_url": address}) if direct else resolved.endpoint


async def fail(port: WireRouter, endpoint: Endpoint) -> ProviderFailure:
    with pytest.raises(ModelError) as caught:
        await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert PASSWORD not in f"{caught.value!r} {caught.getrepr(chain=True)} {caught.value.failure!r}"
    return caught.value.failure


@pytest.mark.parametrize("wire", MODELS)
async def test_the_environments_proxy_and_authority_count(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve_proxy(ConnectProxy(LOGIN)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        port = WireRouter(os.environ)
        failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options))
        await port.close()
    assert REACHED in failure.message and proxy.asked == [*sign_in.hosts, urlsplit(provider.url).netloc]


@pytest.mark.parametrize("wire", MODELS)
async def test_what_needs_no_proxy_is_reached_straight(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve_proxy(ConnectProxy()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "localhost")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        port = WireRouter(os.environ)
        failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options))
        await port.close()
    assert REACHED in failure.message and proxy.asked == []


@pytest.mark.parametrize("wire", OWN)
async def test_a_provider_has_a_proxy_and_an_authority_of_its_own(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = WireRouter(os.environ)
    async with serve_proxy(ConnectProxy(LOGIN)) as proxy:
        monkeypatch.setenv("THE_PROXY", proxy.url)
        options = {**sign_in.options, "proxy": "{env:THE_PROXY}", "caFile": str(authority.file)}
        failure = await fail(port, await reach(port, wire, provider.url, **options))
        await port.close()
    assert REACHED in failure.message and proxy.asked == [*sign_in.hosts, urlsplit(provider.url).netloc]


@pytest.mark.parametrize("wire", ["chat", "bedrock", "vertex"])
async def test_files_of_a_project_are_read_as_a_person_has_accepted_them(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority
) -> None:
    def accepted(file: Path) -> str:
        return accept_file(str(file), content_digest(file.read_text().strip()))

    authority.file.write_text(f"# Größer\n{authority.file.read_text()}")
    options = {**sign_in.options, "caFile": accepted(authority.file)}
    if wire == "vertex":
        options["googleAuthOptions"] = {"keyFilename": accepted(authority.file.parent / "google.json")}
    port = WireRouter(os.environ)
    endpoint = await reach(port, wire, provider.url, **options)
    authority.file.write_text("what was written since")

    assert REACHED in (await fail(port, endpoint)).message
    with pytest.raises(UsageError, match=f"{authority.file}: its content is not what was accepted"):
        await reach(port, wire, provider.url, **options)
    await port.close()


def wants_a_certificate(authority: Authority) -> dict[str, str]:
    """The server's own, with its key, are the only ones that the authority has signed."""
    authority.server.verify_mode = ssl.CERT_REQUIRED
    authority.server.load_verify_locations(authority.file)
    folder = authority.file.parent
    key, begins, certificate = (folder / "server.pem").read_text().partition("-----BEGIN CERTIFICATE")
    (folder / "key.pem").write_text(key)
    (folder / "cert.pem").write_text(begins + certificate)
    return {"certFile": str(folder / "cert.pem"), "keyFile": str(folder / "key.pem"), "caFile": str(authority.file)}


@pytest.mark.parametrize("wire", [wire for wire in OWN if wire not in ("bedrock", "vertex")])
async def test_a_certificate_is_shown_to_a_provider_that_wants_one(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, port: WireRouter
) -> None:
    files = wants_a_certificate(authority)
    both = {"certFile": str(authority.file.parent / "server.pem"), "caFile": files["caFile"]}
    without = {"caFile": files["caFile"]}

    for shown in (files, both):
        assert REACHED in (await fail(port, await reach(port, wire, provider.url, **sign_in.options, **shown))).message
    failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options, **without))
    assert REACHED not in failure.message


async def test_a_certificate_of_a_project_is_shown_as_a_person_has_accepted_it(
    provider: ProviderDouble, authority: Authority, port: WireRouter
) -> None:
    files = {
        option: accept_file(file, content_digest(Path(file).read_text().strip()))
        for option, file in wants_a_certificate(authority).items()
    }
    endpoint = await reach(port, "chat", provider.url, apiKey="k", **files)
    (authority.file.parent / "key.pem").write_text("what was written since")

    assert REACHED in (await fail(port, endpoint)).message
    with pytest.raises(UsageError, match="key.pem: its content is not what was accepted"):
        await reach(port, "chat", provider.url, apiKey="k", **files)


async def test_a_certificate_that_cannot_be_shown_is_named(
    provider: ProviderDouble, authority: Authority, port: WireRouter
) -> None:
    files = wants_a_certificate(authority)
    other = make_authority(authority.file.parent / "other").file.with_name("server.pem")
    wrong = [
        ({"keyFile": files["keyFile"]}, "keyFile is the key of no certificate: name that as .*certFile"),
        ({"certFile": "cert.pem"}, "certFile is the relative path 'cert.pem'"),
        ({"certFile": "/no/such.pem"}, "cannot be read from '/no/such.pem': No such file"),
        ({"certFile": files["certFile"]}, "cannot be read from"),
        ({"certFile": files["certFile"], "keyFile": str(other)}, "key.* cannot be read from .*KEY_VALUES_MISMATCH"),
    ]
    for options, words in wrong:
        with pytest.raises(UsageError, match=words):
            await fail(port, await reach(port, "chat", provider.url, apiKey="k", **options))


@pytest.mark.parametrize("wire", OWN)
async def test_the_authorities_that_opencode_is_given_are_trusted_too(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(authority.file))
    port = WireRouter(os.environ)
    failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options))
    await port.close()
    assert REACHED in failure.message


async def test_authorities_of_opencode_that_cannot_be_read_are_ignored(
    provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/no/such/file.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    port = WireRouter(os.environ)
    failure = await fail(port, await reach(port, "chat", provider.url))
    await port.close()
    assert REACHED in failure.message
    assert "NODE_EXTRA_CA_CERTS is ignored: '/no/such/file.pem': No such file or directory" in caplog.text


async def test_an_authority_is_found_in_the_home(
    port: WireRouter, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(authority.file.parent))
    failure = await fail(port, await reach(port, "chat", provider.url, caFile=f"~/{authority.file.name}"))
    assert REACHED in failure.message


async def test_a_relative_file_of_authorities_is_refused(port: WireRouter) -> None:
    with pytest.raises(UsageError, match="mistral.options.caFile is the relative path 'ca.pem': write it from / or ~"):
        await reach(port, "chat", "https://localhost:1", caFile="ca.pem")


async def test_litellm_takes_no_proxy_of_one_provider_and_says_so(port: WireRouter) -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY and SSL_CERT_FILE"):
        asked = await reach(port, "litellm", "https://localhost:1", proxy="http://localhost:2")
        await collect_answer(port, ModelRequest(endpoint=asked, messages=GO))


async def test_a_certificate_that_is_not_trusted_is_named_with_what_to_do(
    provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = WireRouter(os.environ)
    failure = await fail(port, await reach(port, "anthropic", provider.url))
    assert "not trusted here" in (failure.connect_error or "") and "SSL_CERT_FILE" in (failure.connect_error or "")
    await port.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert REACHED in (await fail(port, await reach(port, "anthropic", provider.url))).message
    await port.close()


@pytest.mark.parametrize("wire", ["bedrock"])
async def test_aws_is_trusted_as_its_own_programs_do_beside_all_others(
    wire: str, sign_in: SignIn, provider: ProviderDouble, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = WireRouter(os.environ)
    failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options))
    assert "no AWS credentials" in failure.message and "not trusted here" in (failure.connect_error or "")
    await port.close()
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(make_authority(authority.file.parent / "other").file))
    port = WireRouter(os.environ)
    failure = await fail(port, await reach(port, wire, provider.url, **sign_in.options))
    assert failure.connect_error and "credentials" not in failure.message, "Bedrock itself is not trusted"
    await port.close()


async def test_a_proxy_that_refuses_is_named_without_its_password(port: WireRouter, provider: ProviderDouble) -> None:
    async with serve_proxy(ConnectProxy("another:login")) as proxy:
        url = proxy.url.replace("another:login", LOGIN)
        failure = await fail(port, await reach(port, "anthropic", provider.url, proxy=url))
    assert "the proxy answers 407 Proxy Authentication Required" in (failure.connect_error or "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"proxy": f"gopher://{LOGIN}@localhost:1"}, "The proxy in the option `proxy` cannot be used"),
        ({"caFile": "/no/such/file.pem"}, "'/no/such/file.pem': No such file"),
        ({"caFile": __file__}, "Certificates cannot be read"),
    ],
)
async def test_an_option_that_cannot_be_used_is_named(port: WireRouter, options: dict[str, str], words: str) -> None:
    endpoint = await reach(port, "anthropic", "https://localhost:1", **options)
    with pytest.raises(UsageError, match=words) as caught:
        await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert PASSWORD not in str(caught.getrepr(chain=True)).replace(str(options), "")


async def test_a_variable_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"gopher://{LOGIN}@localhost:1")
    port = WireRouter(os.environ)
    with pytest.raises(UsageError, match="The proxy in HTTPS_PROXY") as caught:
        asked = await reach(port, "anthropic", "https://localhost:1")
        await collect_answer(port, ModelRequest(endpoint=asked, messages=GO))
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("login", [LOGIN, PASSWORD])
def test_a_proxy_with_a_password_is_stored_nowhere(tmp_path: Path, login: str) -> None:
    tree: Any = {"provider": {"own": {"options": {"proxy": f"http://{login}@proxy:1"}}}}
    assert PASSWORD not in str(detach_from_file(tree, tmp_path / "opencode.json", tmp_path))


def test_a_proxy_without_a_login_may_stand_in_a_variable(tmp_path: Path) -> None:
    """A variable is no file: it could not be read again."""
    tree: Any = {"provider": {"own": {"options": {"proxy": "http://proxy:1"}}}}
    assert detach_from_file(tree, tmp_path / "OPENCODE_CONFIG_CONTENT", tmp_path) == tree


@pytest.mark.parametrize(
    "told", ["a-token-as-user", "pass/word-of-it", base64.b64encode(b"a-token-as-user:pass/word-of-it").decode()]
)
def test_no_failure_shows_a_proxys_login_in_any_form(told: str) -> None:
    proxy = SecretStr("http://a-token-as-user:pass%2Fword-of-it@proxy:1")
    failure = ProviderFailure(provider="p", message=f"refused: {told}")
    shown = redact_failure(failure, Endpoint(model="openai/m", route=Route(proxy=proxy)), Redactor()).message
    assert told not in shown and "[redacted]" in shown
