"""Models on Google's Vertex AI: Gemini's and Anthropic's wires at its addresses, signed in by Google's credentials."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import AsyncAnthropicVertex
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials
from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model.endpoint import Endpoint, GoogleSignIn, Route, Wire
from activities.model.endpoints import EndpointResolver
from activities.model.failures import Retry, classify
from activities.model.port import ModelRequest
from activities.model.provider_files import ProviderFile
from activities.model.wires.google_tokens import GoogleTokens
from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from tests.providers import anthropic_messages, google_gemini, openai_chat
from tests.providers.behaviours.failing import LEFT_OPEN, SILENCE
from tests.providers.behaviours.reasons import REASONS
from tests.providers.behaviours.rows import ROWS, Rig
from tests.providers.behaviours.script import Answer, Call, Text, Thought
from tests.providers.behaviours.table import NAMES, WIRES
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.connect_proxy import ConnectProxy, serve_proxy
from tests.providers.double_requests import GO, collect_answer
from tests.providers.google_token_server import (
    REFRESH_TOKEN,
    TokenServer,
    serve_tokens,
    write_service_account,
    write_user,
)
from tests.providers.provider_double import ProviderDouble, RefusedRequest, serve_double
from tests.providers.vertex_wires import VertexClaudeWire, VertexGeminiWire
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.messages import TextPart

pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),  # google-genai's
    pytest.mark.filterwarnings("ignore:The load_credentials_from_file method:DeprecationWarning"),  # google-auth's
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),  # litellm's
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]
KINDS: tuple[type[WireUnderTest], ...] = (VertexGeminiWire, VertexClaudeWire)
TOKEN = google_gemini.TOKEN
CALLS = (Call("read", '{"path": "世"}'), Call("read", ""))
WHOLE: list[Any] = ["Grüße", ("read", {"path": "世"}), ("read", {})]


def _reasoned(kind: type[WireUnderTest]) -> set[str]:
    own = next(wire.name for wire in WIRES if issubclass(kind, wire))
    return {row for name, row in REASONS if name == own}


CELLS = [(kind, row) for kind in KINDS for row in NAMES if row not in _reasoned(kind)]


@pytest.fixture
async def impatient() -> AsyncIterator[WireRouter]:
    port = WireRouter({}, timeouts=StreamTimeouts(SILENCE, SILENCE, SILENCE))
    yield port
    await port.close()


@pytest.mark.parametrize(("kind", "row"), CELLS, ids=[f"{kind.name}: {row}" for kind, row in CELLS])
async def test_it_behaves_as_the_same_wire_elsewhere(
    port: WireRouter, impatient: WireRouter, kind: type[WireUnderTest], row: str
) -> None:
    rig = Rig(impatient if row.startswith(("silence", LEFT_OPEN)) else port, kind(), tuple(other() for other in WIRES))
    async with serve_double(rig.wire.double):
        await ROWS[row](rig)


async def test_googles_own_client_understands_the_double() -> None:
    wire = VertexGeminiWire()
    wire.play(Answer((Thought("Look."), Text("Grüße"), *CALLS)))
    async with serve_double(wire.double):
        options = types.HttpOptions(base_url=wire.double.url, api_version="v1beta1")
        credentials = Credentials(token=TOKEN)  # type: ignore[no-untyped-call]
        client = genai.Client(
            vertexai=True, project="some-project", location="global", credentials=credentials, http_options=options
        )
        async with client.aio as asking:
            stream = await asking.models.generate_content_stream(model=wire.model_name, contents="go")
            found = [
                each.content.parts or () async for chunk in stream for each in chunk.candidates or () if each.content
            ]
    parts = [part for each in found for part in each if not part.thought]
    calls = [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
    assert ["".join(part.text or "" for part in parts), *calls] == WHOLE


async def test_anthropics_own_client_understands_the_double() -> None:
    wire = VertexClaudeWire()
    wire.play(Answer((Thought("Look."), Text("Grüße"), *CALLS)))
    async with serve_double(wire.double):
        url = f"{wire.double.url}/v1"
        client = AsyncAnthropicVertex(region="global", project_id="some-project", access_token=TOKEN, base_url=url)
        async with (
            client,
            client.messages.stream(
                model=wire.model_name, max_tokens=4096, messages=[{"role": "user", "content": "go"}]
            ) as stream,
        ):
            message = await stream.get_final_message()
    texts = [block.text for block in message.content if block.type == "text"]
    assert [*texts, *((block.name, block.input) for block in message.content if block.type == "tool_use")] == WHOLE


_CALLED = {
    "role": "model",
    "parts": [{"functionCall": {"id": "a", "name": "read", "args": {}}, "thoughtSignature": "x"}],
}
_CLAUDE = {"max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "anthropic_version": "vertex-2023-10-16"}


@pytest.mark.parametrize(
    ("kind", "words", "body", "headers"),
    [
        (VertexGeminiWire, "invalid authentication", {"contents": []}, {"x-goog-api-key": google_gemini.KEY}),
        (VertexGeminiWire, "Corrupted", {"contents": [_CALLED]}, VertexGeminiWire.headers),
        (VertexClaudeWire, "model: Extra inputs", {**_CLAUDE, "model": "claude"}, VertexClaudeWire.headers),
        (VertexClaudeWire, "anthropic_version", {"messages": []}, VertexClaudeWire.headers),
        (VertexClaudeWire, "invalid authentication", _CLAUDE, {"x-api-key": anthropic_messages.KEY}),
    ],
)
async def test_what_vertex_forbids_is_refused(
    kind: type[WireUnderTest], words: str, body: dict[str, Any], headers: dict[str, str]
) -> None:
    wire = kind()
    async with serve_double(wire.double), httpx.AsyncClient() as client:
        refused = await client.post(f"{wire.double.url}{wire.endpoint}", headers=headers, json=body)
    assert refused.status_code in (400, 401) and words in refused.text


async def resolve(model: str, options: dict[str, Any], environment: dict[str, str], port: WireRouter) -> Endpoint:
    config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": options}}})
    return (await EndpointResolver(Keys(Path("nowhere.json")), environment, port).resolve(model, config)).endpoint


@pytest.mark.parametrize(
    ("model", "options", "environment", "address", "wire"),
    [
        (
            "google-vertex/gemini-3.1-pro-preview",
            {},
            {"GOOGLE_CLOUD_PROJECT": "p", "VERTEX_LOCATION": "global"},
            "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google",
            Wire.GEMINI,
        ),
        (
            "google-vertex/gemini-2.5-pro",
            {},
            {"GOOGLE_CLOUD_PROJECT": "other", "GOOGLE_VERTEX_PROJECT": "p"},
            "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1/publishers/google",
            Wire.GEMINI,
        ),
        (
            "google-vertex/claude-opus-4-6@default",
            {"project": "p", "location": "eu"},
            {"GOOGLE_VERTEX_PROJECT": "other", "GOOGLE_VERTEX_LOCATION": "asia-east1"},
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models",
            Wire.ANTHROPIC,
        ),
        (
            "google-vertex-anthropic/claude-opus-4-6@default",
            {"project": "{env:TEAM}"},
            {"TEAM": "example.com:p"},
            "https://aiplatform.googleapis.com/v1/projects/example.com:p/locations/global/publishers/anthropic/models",
            Wire.ANTHROPIC,
        ),
        (
            "google-vertex/deepseek-ai/deepseek-v3.2-maas",
            {},
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-east5"},
            "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi",
            Wire.CHAT,
        ),
    ],
)
async def test_a_model_is_reached_in_the_users_project(
    port: WireRouter, model: str, options: dict[str, Any], environment: dict[str, str], address: str, wire: Wire
) -> None:
    found = await resolve(model, options, environment, port)
    assert (found.base_url, found.wire, found.key, found.google) == (address, wire, None, GoogleSignIn())


async def test_a_key_reaches_gemini_without_a_project(port: WireRouter) -> None:
    found = await resolve("google-vertex/gemini-2.5-pro", {}, {"GOOGLE_VERTEX_API_KEY": "k"}, port)
    assert (found.base_url, found.secret, found.google) == (
        "https://aiplatform.googleapis.com/v1beta1/publishers/google",
        "k",
        None,
    )


@pytest.mark.parametrize(
    ("model", "environment", "words"),
    [
        ("google-vertex/gemini-2.5-pro", {}, "set GOOGLE_CLOUD_PROJECT, or provider.google-vertex.options.project"),
        ("google-vertex/claude-opus-4-6", {"GOOGLE_VERTEX_API_KEY": "k"}, "needs a project"),
        ("google-vertex/gemini-2.5-pro", {"GOOGLE_CLOUD_PROJECT": "p/q"}, "project of 'google-vertex' is no name"),
        (
            "google-vertex/gemini-2.5-pro",
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "evil.example/"},
            "location of 'google-vertex' is no name",
        ),
        ("google-vertex/codestral-2", {"GOOGLE_CLOUD_PROJECT": "p"}, "Gemini, Claude, and open models"),
        ("google-vertex-anthropic/gemini-2.5-pro", {"GOOGLE_CLOUD_PROJECT": "p"}, "for Claude"),
    ],
)
async def test_what_cannot_be_reached_is_named(
    port: WireRouter, model: str, environment: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await resolve(model, {}, environment, port)


KEY_FILENAME = {"googleAuthOptions": {"keyFilename": "FILE"}}
OF_ENVIRONMENT = {"GOOGLE_APPLICATION_CREDENTIALS": "FILE"}


@pytest.mark.parametrize(
    ("options", "environment", "name"),
    [
        (KEY_FILENAME, {}, "provider.google-vertex.options.googleAuthOptions.keyFilename"),
        ({}, OF_ENVIRONMENT, "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
async def test_a_file_of_credentials_is_in_the_home_or_absolute(
    port: WireRouter, options: dict[str, Any], environment: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def named(file: str) -> Endpoint:
        written, variables = json.loads(json.dumps([options, environment]).replace("FILE", file))
        return await resolve("google-vertex/gemini-2.5-pro", written, {**variables, "GOOGLE_CLOUD_PROJECT": "p"}, port)

    monkeypatch.setenv("HOME", "/home/ada")
    assert (await named("~/key.json")).google == GoogleSignIn(credentials_file=ProviderFile(path="/home/ada/key.json"))
    with pytest.raises(UsageError, match=f"{name} is the relative path 'key.json'"):
        await named("key.json")


async def ask(port: WireRouter, wire: WireUnderTest, credentials: Path) -> Any:
    """As a session asks: the address from the configuration, the credentials from the environment."""
    model = f"google-vertex/{wire.model_name}"
    environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(credentials)}
    url = wire.double.url or "http://127.0.0.1:1"
    endpoint = await resolve(model, {"baseURL": f"{url}{wire.path}"}, environment, port)
    return (await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))).parts


HI = (TextPart(text="Hi"),)


@pytest.mark.parametrize("write", [write_service_account, write_user])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_file_of_credentials_signs_in_once_for_all_requests(
    port: WireRouter, tmp_path: Path, kind: type[WireUnderTest], write: Any
) -> None:
    wire = kind()
    wire.play(Answer((Text("Hi"),)))
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN)) as tokens:
        file = write(tmp_path / "credentials.json", tokens.url)
        answers = await asyncio.gather(*(ask(port, wire, file) for _ in range(3)))
        answers.append(await ask(port, wire, file))
    assert answers == [HI] * 4 and len(tokens.asked) == 1


async def test_open_models_are_asked_in_openais_chat_protocol(port: WireRouter, tmp_path: Path) -> None:
    service = openai_chat.OpenAIChat(openai_chat.Answer((openai_chat.Text("Hi"),)))
    async with serve_double(service.double) as double, serve_tokens(TokenServer(openai_chat.KEY)) as tokens:
        file = write_service_account(tmp_path / "credentials.json", tokens.url)
        environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}
        model = "google-vertex/openai/gpt-oss-120b-maas"
        endpoint = await resolve(model, {"baseURL": f"{double.url}/v1"}, environment, port)
        answer = await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts == HI and service.double.asked[0]["model"] == "openai/gpt-oss-120b-maas"


async def test_the_machines_own_credentials_are_found(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = VertexGeminiWire()
    wire.play(Answer((Text("Hi"),)))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "some-project")
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN)) as tokens:
        write_user(tmp_path / "application_default_credentials.json", tokens.url)
        endpoint = await resolve(f"google-vertex/{wire.model_name}", {"baseURL": wire.double.url + wire.path}, {}, port)
        answer = await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts == HI


async def test_a_token_that_is_about_to_end_is_replaced_and_the_file_read_anew(
    port: WireRouter, tmp_path: Path
) -> None:
    wire = VertexGeminiWire()
    wire.play(Answer((Text("Hi"),)))
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN, seconds=200)) as tokens:
        await ask(port, wire, write_service_account(tmp_path / "credentials.json", tokens.url))
        tokens.seconds = 3599
        for _ in range(2):
            assert await ask(port, wire, write_user(tmp_path / "credentials.json", tokens.url)) == HI
    assert [kind.rpartition(":")[2] for kind in tokens.asked] == ["jwt-bearer", "refresh_token"]


async def test_credentials_that_google_refuses_end_the_turn_with_the_command_that_makes_new_ones(
    port: WireRouter, tmp_path: Path
) -> None:
    wire = VertexGeminiWire()
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN)) as tokens:
        file = write_user(tmp_path / "credentials.json", tokens.url)
        file.write_text(file.read_text().replace("a-secret", "a-wrong-secret"))
        with pytest.raises(UsageError, match="expired or revoked.*gcloud auth application-default login") as caught:
            await ask(port, wire, file)
    shown = f"{caught.value!r} {caught.value.__cause__!r}"
    assert wire.double.asked == [] and "a-wrong-secret" not in shown and REFRESH_TOKEN not in shown


@pytest.mark.parametrize(
    "content",
    ["{", '{"type": "a-secret"}', '{"type": "service_account", "private_key": "a-secret"}', "[]", "null", '"a-secret"'],
)
async def test_a_file_that_is_none_of_credentials_is_named_without_what_it_holds(
    port: WireRouter, tmp_path: Path, content: str
) -> None:
    (file := tmp_path / "credentials.json").write_text(content)
    with pytest.raises(UsageError, match="credentials.json"):
        await ask(port, VertexGeminiWire(), file)
    with pytest.raises(UsageError, match=r"nowhere.json was not found"):
        await ask(port, VertexGeminiWire(), tmp_path / "nowhere.json")


@pytest.mark.parametrize("failing", [(503, {"error": "temporarily_unavailable"}), None])
async def test_a_sign_in_that_does_not_answer_is_waited_for(
    port: WireRouter, tmp_path: Path, failing: tuple[int, Any] | None
) -> None:
    wire = VertexGeminiWire()
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN, failing=failing)) as tokens:
        file = write_user(tmp_path / "credentials.json", tokens.url if failing else "http://127.0.0.1:1/token")
        with pytest.raises(ModelError, match="sign-in does not answer") as caught:
            await ask(port, wire, file)
    assert isinstance(classify(caught.value.failure), Retry) and wire.double.asked == []


@pytest.mark.parametrize(("server", "sent"), [("http://127.0.0.1:1/token", True), ("notaurl", False)])
async def test_a_sign_in_that_was_never_reached_says_so(
    port: WireRouter, tmp_path: Path, server: str, sent: bool
) -> None:
    with pytest.raises(ModelError, match="sign-in does not answer") as caught:
        await ask(port, VertexGeminiWire(), write_user(tmp_path / "credentials.json", server))
    assert bool(caught.value.failure.connect_error) is sent
    assert isinstance(classify(caught.value.failure), Retry) is sent


async def test_a_token_server_that_is_no_text_is_a_clear_error(port: WireRouter, tmp_path: Path) -> None:
    file = write_user(tmp_path / "credentials.json", "5")
    file.write_text(file.read_text().replace('"5"', "5"))
    with pytest.raises(UsageError, match="credentials.json"):
        await ask(port, VertexGeminiWire(), file)


async def test_the_machines_metadata_server_is_asked_without_a_proxy(tmp_path: Path) -> None:
    entries = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "http://127.0.0.1:1/token",
        "credential_source": {"url": "http://metadata.google.internal/token"},
    }
    (file := tmp_path / "credentials.json").write_text(json.dumps(entries))
    async with serve_proxy(ConnectProxy()) as proxy:
        route = Route(proxy=SecretStr(proxy.url))
        sign_in = GoogleSignIn(credentials_file=ProviderFile(path=str(file)))
        endpoint = Endpoint(model="vertex_ai/x", google=sign_in, route=route)
        with pytest.raises((ModelError, UsageError)):
            await GoogleTokens({}, StreamTimeouts()).authorize(endpoint)
    assert not [each for each in proxy.asked if "metadata" in each]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_is_not_used_again(port: WireRouter, tmp_path: Path, status: int) -> None:
    wire = VertexGeminiWire()
    wire.play(Answer((Text("Hi"),)))
    async with serve_double(wire.double), serve_tokens(TokenServer("an-old-token")) as tokens:
        file = write_service_account(tmp_path / "credentials.json", tokens.url)
        answering, wire.double.check = wire.double.check, refuse(status)
        with pytest.raises(ModelError, match="No."):
            await ask(port, wire, file)
        wire.double.check, tokens.token = answering, TOKEN
        assert await ask(port, wire, file) == HI


def refuse(status: int) -> Any:
    def check(request: Any, body: Any) -> Any:
        raise RefusedRequest(status, {"error": {"message": "No."}})

    return check


async def test_the_project_that_pays_is_named(port: WireRouter, tmp_path: Path) -> None:
    seen: list[Any] = []

    def check(request: Any, body: Any) -> Any:
        seen.append(request.headers.getall("x-goog-user-project", []))
        raise RefusedRequest(400, {"error": {"message": "No."}})

    wire = VertexGeminiWire()
    wire.service.double = ProviderDouble(check)
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN)) as tokens:
        file = write_user(tmp_path / "credentials.json", tokens.url)
        file.write_text(json.dumps(json.loads(file.read_text()) | {"quota_project_id": "paying-project"}))
        with pytest.raises(ModelError):
            await ask(port, wire, file)
    assert seen == [["paying-project"]]


async def test_without_its_package_the_command_that_installs_it_is_named(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(UsageError, match=r"install holdfast\[vertex\].*make install EXTRAS=vertex"):
        await ask(port, VertexGeminiWire(), tmp_path / "credentials.json")


async def test_a_token_that_vertex_repeats_is_not_shown(port: WireRouter, tmp_path: Path) -> None:
    def check(request: Any, body: Any) -> Any:
        raise RefusedRequest(403, {"error": {"message": f"Not with {request.headers['authorization']}"}})

    wire = VertexGeminiWire()
    wire.service.double = ProviderDouble(check)
    async with serve_double(wire.double), serve_tokens(TokenServer(TOKEN)) as tokens:
        file = write_service_account(tmp_path / "credentials.json", tokens.url)
        with pytest.raises(ModelError, match="Not with") as caught:
            await ask(port, wire, file)
    assert TOKEN not in f"{caught.getrepr(chain=True)} {caught.value.failure!r}"
