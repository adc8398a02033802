"""AWS as people configure it: who signs a request to Bedrock, and where it goes."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from activities.credentials.keys import Keys
from activities.model.aws import AwsProfiles
from activities.model.bedrock_regions import regional_name
from activities.model.endpoint import AwsSignIn, Endpoint, Wire
from activities.model.endpoints import EndpointResolver
from activities.model.failures import FailureAction, Retry, Stop, StopKind, classify
from activities.model.port import ModelRequest
from activities.model.providers import check_provider
from activities.model.wires.router import WireRouter
from activities.model.wires.wire_request import WireRequest
from tests.providers.bedrock_converse import ACCESS_KEY, API_KEY, CLAUDE, SECRET_KEY, Bedrock
from tests.providers.double_outputs import Answer, Text
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.messages import TextPart
from workflows.domain.provider_failure import ProviderFailure

HI: Final = Answer((Text("Hi"),))
NAME: Final = f"amazon-bedrock/{CLAUDE}"
KEYS: Final = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
TOKEN: Final = "FwoGZXIvYXdzEBYaDLocalSessionToken"


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A person without any account; the folder of AWS's files."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return tmp_path


async def place(
    port: WireRouter, folder: Path, environment: Mapping[str, str], options: Mapping[str, Any], model: str = NAME
) -> Endpoint:
    """Where the model is reached."""
    config = Config.model_validate({"provider": {"amazon-bedrock": {"options": dict(options)}}})
    resolver = EndpointResolver(Keys(folder / "auth.json"), environment, port)
    return (await resolver.resolve(model, config)).endpoint


async def ask(port: WireRouter, folder: Path, environment: Mapping[str, str], **options: Any) -> dict[str, str]:
    """The headers of a request that the double has answered: it checks the signature."""
    service = Bedrock(HI)
    headers: dict[str, str] = {}
    check = service.double.check

    def checked(request: web.Request, body: dict[str, Any]) -> StreamPlan:
        headers.update(request.headers)
        return check(request, body)

    service.double.check = checked
    async with serve_double(service.double):
        endpoint = await place(port, folder, environment, {"endpoint": service.double.url, **options})
        answer = await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts == (TextPart(text="Hi"),)
    return headers


async def test_keys_of_the_environment_sign(port: WireRouter, tmp_path: Path) -> None:
    headers = await ask(port, tmp_path, {**KEYS, "AWS_REGION": "sa-east-1"})

    assert "/sa-east-1/bedrock/" in headers["Authorization"]


async def test_a_session_token_goes_along(port: WireRouter, tmp_path: Path) -> None:
    headers = await ask(port, tmp_path, {**KEYS, "AWS_SESSION_TOKEN": TOKEN}, region="sa-east-1")

    assert headers["x-amz-security-token"] == TOKEN
    assert "x-amz-security-token" in headers["Authorization"]


@pytest.mark.parametrize("where", ["configured", "variable", "default"])
async def test_a_profile_signs_in_its_region(port: WireRouter, tmp_path: Path, where: str) -> None:
    profile = "default" if where == "default" else "work"
    write(tmp_path / "credentials", profile, aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
    write(tmp_path / "config", profile if where == "default" else f"profile {profile}", region="sa-east-1")
    environment = {"AWS_PROFILE": profile} if where == "variable" else {}

    headers = await ask(port, tmp_path, environment, **({"profile": profile} if where == "configured" else {}))

    assert "/sa-east-1/bedrock/" in headers["Authorization"]


async def test_a_configured_profile_wins_over_keys_of_the_environment(port: WireRouter, tmp_path: Path) -> None:
    write(tmp_path / "credentials", "work", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
    other = {"AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SECRET_ACCESS_KEY": "of another account"}

    await ask(port, tmp_path, other, profile="work", region="sa-east-1")


async def test_credentials_that_are_renewed_in_their_file_sign_from_then_on(port: WireRouter, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    for secret in ("ended", SECRET_KEY):
        write(file, "work", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=secret)
        if secret == "ended":
            with pytest.raises(ModelError, match="does not match the signature"):
                await ask(port, tmp_path, {}, profile="work", region="sa-east-1")
    await ask(port, tmp_path, {}, profile="work", region="sa-east-1")


async def test_credentials_of_a_program_are_renewed_before_they_end(port: WireRouter, tmp_path: Path) -> None:
    """As those of single sign-on and of roles are."""
    count = tmp_path / "count"
    credential_process(
        tmp_path,
        "work",
        f'echo x >> "{count}"\n'
        f'echo \'{{"Version": 1, "AccessKeyId": "{ACCESS_KEY}", "SecretAccessKey": "{SECRET_KEY}", '
        f'"SessionToken": "{TOKEN}", "Expiration": "\'"$(date -u -d "+2 minutes" +%Y-%m-%dT%H:%M:%SZ)"\'"}}\'',
    )

    for _ in range(2):
        await ask(port, tmp_path, {}, profile="work")

    assert len(count.read_text().split()) > 2, "they end within AWS's own margin: each request asks for new ones"


async def test_a_key_of_bedrocks_own_needs_no_account(port: WireRouter, tmp_path: Path) -> None:
    headers = await ask(port, tmp_path, {"AWS_BEARER_TOKEN_BEDROCK": API_KEY, "AWS_REGION": "sa-east-1"})

    assert headers["Authorization"] == f"Bearer {API_KEY}"


async def test_a_configured_authorization_goes_out_as_it_is(port: WireRouter, tmp_path: Path) -> None:
    configured = {"Authorization": f"Bearer {API_KEY}"}
    headers = await ask(port, tmp_path, {**KEYS, "AWS_REGION": "sa-east-1"}, headers=configured)

    assert headers["Authorization"] == f"Bearer {API_KEY}"


async def test_without_credentials_nothing_is_sent_and_the_ways_to_give_some_are_named(
    port: WireRouter, tmp_path: Path
) -> None:
    assert "AWS_PROFILE" in (await refused(port, tmp_path, region="sa-east-1")).message


async def test_a_session_of_single_sign_on_that_has_ended_says_how_to_begin_one(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    session = {"sso_start_url": "https://x", "sso_region": "us-east-1", "sso_account_id": "1", "sso_role_name": "r"}
    write(tmp_path / "config", "profile work", region="sa-east-1", **session)

    assert "`aws sso login --profile work`" in (await refused(port, tmp_path, profile="work")).message


async def test_a_service_of_credentials_that_is_not_reached_is_asked_again(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    write(tmp_path / "credentials", "base", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
    write(tmp_path / "config", "profile work", role_arn="arn:aws:iam::123456789012:role/r", source_profile="base")

    with pytest.raises(ModelError) as caught:
        await ask(port, tmp_path, {}, profile="work", region="sa-east-1")

    assert isinstance(classify(caught.value.failure), Retry)


@pytest.mark.parametrize(("status", "code"), [(429, "SlowDown"), (400, "ThrottlingException"), (503, "Unavailable")])
async def test_a_service_of_credentials_that_is_too_busy_is_asked_again(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, code: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        text = f"<ErrorResponse><Error><Code>{code}</Code><Message>Rate exceeded</Message></Error></ErrorResponse>"
        return web.Response(status=status, text=text, content_type="text/xml")

    application = web.Application()
    application.router.add_post("/", refuse)
    async with TestServer(application) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", str(server.make_url("/")))
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        write(tmp_path / "credentials", "base", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
        write(tmp_path / "config", "profile work", role_arn="arn:aws:iam::123456789012:role/r", source_profile="base")
        with pytest.raises(ModelError) as caught:
            await ask(port, tmp_path, {}, profile="work", region="sa-east-1")

    assert isinstance(classify(caught.value.failure), Retry)


async def test_a_containers_service_that_is_not_reached_is_asked_again(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore tells of it by an error that says nothing of its kind: the one before it does."""
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/")

    with pytest.raises(ModelError) as caught:
        await ask(port, tmp_path, {}, region="sa-east-1")

    assert isinstance(classify(caught.value.failure), Retry)


@pytest.mark.parametrize("mfa", ["work", "base"])
async def test_a_profile_that_asks_for_a_code_of_mfa_is_refused_with_what_to_do(
    port: WireRouter, tmp_path: Path, mfa: str
) -> None:
    """botocore would read one from the worker's terminal, and tells of it by another error the next time."""
    roles = {"work": "base", "base": "keys"}
    write(tmp_path / "credentials", "keys", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
    for name, source in roles.items():
        device = {"mfa_serial": "arn:aws:iam::123456789012:mfa/me"} if name == mfa else {}
        role = f"arn:aws:iam::123456789012:role/{name}"
        write(tmp_path / "config", f"profile {name}", role_arn=role, source_profile=source, **device)

    for _ in range(2):
        failure = await refused(port, tmp_path, profile="work", region="sa-east-1")
        assert "mfa_serial" in failure.message and "export-credentials --format env --profile work" in failure.message


async def refused(port: WireRouter, folder: Path, **options: Any) -> ProviderFailure:
    """A failure that ends the turn, before anything is sent."""
    with pytest.raises(ModelError) as caught:
        await ask(port, folder, {}, **options)
    action = classify(caught.value.failure)
    assert isinstance(action, Stop) and action.kind is StopKind.UNSENT
    return caught.value.failure


def credential_process(folder: Path, profile: str, script: str) -> None:
    """A profile with a program for its credentials."""
    program = folder / f"{profile}.sh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    write(folder / "config", f"profile {profile}", credential_process=str(program), region="sa-east-1")


async def test_a_program_that_hangs_is_run_once_and_delays_no_other_profile(port: WireRouter, tmp_path: Path) -> None:
    credential_process(tmp_path, "hung", f"echo x >> {tmp_path}/count; exec sleep 4")
    write(tmp_path / "credentials", "work", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)

    waiting = [asyncio.create_task(ask(port, tmp_path, {}, profile="hung")) for _ in range(8)]
    await asyncio.sleep(0.5)
    async with asyncio.timeout(3):
        await ask(port, tmp_path, {}, profile="work", region="sa-east-1")
        await ask(port, tmp_path, KEYS, region="sa-east-1")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    assert (tmp_path / "count").read_text().split() == ["x"]


async def test_a_look_up_that_takes_too_long_says_what_to_do(tmp_path: Path) -> None:
    credential_process(tmp_path, "hung", "exec sleep 2")
    sign_in = AwsSignIn(region="sa-east-1", profile="hung")
    endpoint = Endpoint(model=f"bedrock/{CLAUDE}", wire=Wire.BEDROCK, aws=sign_in)

    with pytest.raises(ModelError, match="aws sts get-caller-identity --profile hung") as caught:
        await AwsProfiles({}, timeout=0.2).authorize(endpoint, WireRequest("https://x.example.com", {}, (b"{}",)))

    assert isinstance(classify(caught.value.failure), Retry)


async def test_what_a_program_for_credentials_writes_is_not_shown(port: WireRouter, tmp_path: Path) -> None:
    credential_process(tmp_path, "work", f"echo 'the login {SECRET_KEY}x has ended' >&2; exit 1")

    failure = await refused(port, tmp_path, profile="work")

    assert "credential_process" in failure.message and "--profile work" in failure.message
    assert "has ended" not in failure.model_dump_json()


@pytest.mark.parametrize(("status", "expected"), [(403, Stop), (404, Stop), (429, Retry), (503, Retry)])
async def test_a_containers_service_is_asked_again_where_it_may_answer_another_time(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: type[FailureAction]
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status, text="AccessDenied: no role for this pod")

    application = web.Application()
    application.router.add_get("/", refuse)
    async with TestServer(application) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", str(server.make_url("/")))
        with pytest.raises(ModelError, match="no role for this pod") as caught:
            await ask(port, tmp_path, {}, region="sa-east-1")

    assert isinstance(classify(caught.value.failure), expected)


async def test_a_refused_role_says_what_to_try(
    port: WireRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        text = "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>It has ended</Message></Error></ErrorResponse>"
        return web.Response(status=403, text=text, content_type="text/xml")

    application = web.Application()
    application.router.add_post("/", refuse)
    async with TestServer(application) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", str(server.make_url("/")))
        write(tmp_path / "credentials", "base", aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
        write(tmp_path / "config", "profile work", role_arn="arn:aws:iam::123456789012:role/r", source_profile="base")
        failure = await refused(port, tmp_path, profile="work", region="sa-east-1")

    assert "ExpiredToken" in failure.message and "aws sts get-caller-identity --profile work" in failure.message


@pytest.mark.parametrize("region", ["x.example.com/", "us-east-1.example.com#", "us east", "us-east-1@x", "US-EAST-1"])
async def test_what_can_be_no_region_gets_no_host(port: WireRouter, tmp_path: Path, region: str) -> None:
    with pytest.raises(UsageError, match="is not an AWS region"):
        await place(port, tmp_path, {"AWS_REGION": region}, {})


async def test_an_endpoint_is_bedrocks_alone(port: WireRouter, tmp_path: Path) -> None:
    config = Config.model_validate({"provider": {"openai": {"options": {"endpoint": "https://vpce.example.com"}}}})
    resolver = EndpointResolver(Keys(tmp_path / "auth.json"), {"OPENAI_API_KEY": "k"}, port)

    assert (await resolver.resolve("openai/gpt-5", config)).endpoint.base_url != "https://vpce.example.com"


async def test_a_profile_that_is_not_there_is_named(port: WireRouter, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        await place(port, tmp_path, {}, {"profile": "nowhere"})
    with pytest.raises(ModelError, match="nowhere"):
        await ask(port, tmp_path, {}, profile="nowhere", region="sa-east-1")


@pytest.mark.parametrize("source", ["environment", "file"])
async def test_what_the_service_repeats_of_them_is_not_shown(port: WireRouter, tmp_path: Path, source: str) -> None:
    given = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "aws_session_token": TOKEN}
    if source == "file":
        write(tmp_path / "credentials", "default", **given)
    environment = {name.upper(): value for name, value in given.items()} if source == "environment" else {}

    def refuse(*_: object) -> Any:
        message = f"The Canonical String should have been 'x-amz-security-token:{TOKEN} {SECRET_KEY}'"
        raise RefusedRequest(403, {"message": message})

    async with serve_double(ProviderDouble(refuse)) as double:
        endpoint = await place(port, tmp_path, environment, {"endpoint": double.url, "region": "sa-east-1"})
        with pytest.raises(ModelError) as caught:
            await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))

    shown = caught.value.failure.model_dump_json()
    assert "Canonical" in shown and TOKEN not in shown and SECRET_KEY not in shown
    assert TOKEN not in repr(endpoint) and SECRET_KEY not in repr(endpoint)


async def test_a_missing_package_is_named_with_its_extra(port: WireRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "botocore", None)

    with pytest.raises(UsageError, match=r"holdfast\[bedrock\]"):
        check_provider("amazon-bedrock", {})
    asked = ModelRequest(endpoint=Endpoint(model=f"bedrock/{CLAUDE}", wire=Wire.BEDROCK), messages=GO)
    with pytest.raises(UsageError, match=r"holdfast\[bedrock\]"):
        await collect_answer(port, asked)


@pytest.mark.parametrize(
    ("environment", "options", "address"),
    [
        ({"AWS_REGION": "eu-west-1"}, {}, None),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, {}, None),
        ({"AWS_REGION": " eu-west-1\n"}, {}, None),
        ({"AWS_REGION": "us-west-2"}, {"region": "eu-west-1"}, None),
        ({"HERE": "eu-west-1"}, {"region": "{env:HERE}"}, None),
        ({}, {"region": "eu-west-1", "endpoint": "https://vpce.example.com/"}, "https://vpce.example.com"),
        ({}, {"region": "eu-west-1", "baseURL": "https://vpce.example.com"}, "https://vpce.example.com"),
    ],
)
async def test_a_model_is_named_as_it_answers_in_its_region(
    port: WireRouter, tmp_path: Path, environment: Mapping[str, str], options: Mapping[str, Any], address: str | None
) -> None:
    endpoint = await place(port, tmp_path, environment, options)

    assert endpoint.model == f"bedrock/eu.{CLAUDE}"
    assert endpoint.aws and endpoint.aws.region == "eu-west-1"
    assert endpoint.base_url == address


async def test_without_any_region_it_is_opencodes(port: WireRouter, tmp_path: Path) -> None:
    endpoint = await place(port, tmp_path, {}, {})

    assert endpoint.aws and endpoint.aws.region == "us-east-1" and endpoint.model == f"bedrock/us.{CLAUDE}"


@pytest.mark.parametrize(
    ("region", "model", "name"),
    [
        ("us-east-1", "anthropic.claude-opus-4-7", "us.anthropic.claude-opus-4-7"),
        ("us-east-1", "global.anthropic.claude-opus-4-7", "global.anthropic.claude-opus-4-7"),
        ("us-gov-west-1", "anthropic.claude-opus-4-7", "anthropic.claude-opus-4-7"),
        ("us-east-1", "amazon.nova-pro-v1:0", "us.amazon.nova-pro-v1:0"),
        ("us-east-1", "deepseek.r1-v1:0", "us.deepseek.r1-v1:0"),
        ("us-east-1", "deepseek.v3.2", "deepseek.v3.2"),
        ("us-east-1", "openai.gpt-oss-120b-1:0", "openai.gpt-oss-120b-1:0"),
        ("eu-central-2", "anthropic.claude-opus-4-7", "anthropic.claude-opus-4-7"),
        ("eu-south-2", "meta.llama3-2-3b-instruct-v1:0", "eu.meta.llama3-2-3b-instruct-v1:0"),
        ("ap-southeast-2", "anthropic.claude-sonnet-4-5-20250929-v1:0", "au.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("ap-southeast-2", "amazon.nova-pro-v1:0", "apac.amazon.nova-pro-v1:0"),
        ("ap-northeast-1", "amazon.nova-pro-v1:0", "jp.amazon.nova-pro-v1:0"),
        ("ap-south-1", "anthropic.claude-opus-4-7", "apac.anthropic.claude-opus-4-7"),
        ("ca-central-1", "anthropic.claude-opus-4-7", "anthropic.claude-opus-4-7"),
        (
            "us-east-1",
            "arn:aws:bedrock:us-east-1:1:inference-profile/claude",
            "arn:aws:bedrock:us-east-1:1:inference-profile/claude",
        ),
    ],
)
def test_profiles_of_inference(region: str, model: str, name: str) -> None:
    assert regional_name(model, region) == name


def write(file: Path, section: str, **values: str) -> None:
    """A section more in a file of AWS's, which is newer than before."""
    before = file.read_text() if file.exists() else ""
    lines = [f"[{section}]", *(f"{name} = {value}" for name, value in values.items()), ""]
    kept = before.partition(f"[{section}]")[0]
    file.write_text(kept + "\n".join(lines))
    if before:
        moment = file.stat().st_mtime_ns + 10**9
        os.utime(file, ns=(moment, moment))
