"""One real request to a model, over real HTTP: every outcome in words."""

import json
import os
import re
import socket
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import settings_of
from tests.providers import anthropic_messages, openai_responses
from tests.providers.provider_double import serve_double
from tests.worker.cli.conftest import CommandRunner
from tests.worker.cli.conftest import bare as bare
from worker.probe import ProbeResult, probe
from worker.scripted.model_server import serve
from worker.scripted.script import (
    Refuse,
    Script,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedFault,
    ScriptedUsage,
    Stall,
    WebPage,
)
from workflows.domain.config.config import Config
from workflows.domain.usage import Tokens

SECRET = "very-secret-1"


@pytest.mark.parametrize(
    ("fault", "says", "remedy"),
    [
        (
            Refuse(status=401, body={"error": {"message": f"wrong: {SECRET}"}}),
            "rejected the API key (401)",
            "OWN_API_KEY",
        ),
        (
            Refuse(status=404, body={"error": {"message": "no m"}}),
            "no such model, or no API at http://",
            "holdfast models own",
        ),
        (Refuse(status=402, body={"error": {"message": "pay"}}), "out of credit (402): pay", ""),
        (Refuse(status=429), "cannot answer at the moment (429): Rate limit reached", "would wait"),
        (Refuse(status=500, body="down"), "cannot answer at the moment (500)", "would wait"),
        (WebPage(), "answered with a page (text/html) instead of a stream", "baseURL"),
        (Stall(), "was silent", "baseURL"),
        (Stall(after=0), "was silent", "baseURL"),
    ],
    ids=["key", "model", "credit", "limit", "server", "page", "silent", "begun"],
)
async def test_what_stands_in_the_way_is_said_in_words(
    tmp_path: Path, fault: ScriptedFault, says: str, remedy: str
) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="OK", faults={1: fault}),))) as server:
        probed = await asked(tmp_path, server.url)

    assert not probed.answered and says in probed.message and remedy in probed.remedy, probed
    assert probed.seconds is not None
    assert SECRET not in probed.message and probed.message.startswith("own/m")


async def test_an_answer_is_timed_and_came_by_the_key_and_the_headers_of_a_turn(tmp_path: Path) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="OK"),))) as server:
        probed = await asked(tmp_path, server.url, headers={"X-Team": "red"})
        sent = server.last_request

    assert probed.answered and probed.message == "own/m answered: 'OK'" and probed.remedy == ""
    assert sent is not None and sent.headers["Authorization"] == f"Bearer {SECRET}"
    assert sent.headers["X-Team"] == "red" and sent.body["tools"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (ScriptedAnswer(text="O\x1b[2JK\nor not " + "x" * 99), "'O\\x1b[2JK or not xxx"),
        (ScriptedAnswer(tools=(ScriptedCall(name="nothing"),)), "a call of 'nothing'"),
        (ScriptedAnswer(reasoning="Hm."), "thoughts alone"),
    ],
    ids=["text", "call", "thoughts"],
)
async def test_what_came_back_is_said(tmp_path: Path, answer: ScriptedAnswer, shown: str) -> None:
    async with serve(Script(answers=(answer,))) as server:
        probed = await asked(tmp_path, server.url)

    assert probed.answered and f"own/m answered: {shown}" in probed.message and len(probed.message) < 100


async def test_an_answer_that_does_not_end_is_one(tmp_path: Path) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="OK", faults={1: Stall(after=2)}),))) as server:
        probed = await asked(tmp_path, server.url)

    assert probed.answered and probed.message == "own/m answers, and was not done" and probed.cost is None


async def test_its_tokens_and_its_price_are_known(tmp_path: Path) -> None:
    usage = ScriptedUsage(input=1000, output=10, cached=400)
    async with serve(Script(answers=(ScriptedAnswer(text="OK", usage=usage),) * 2)) as server:
        priced = await asked(tmp_path, server.url, cost={"input": 2, "output": 10, "cache_read": 0.5})
        unpriced = await asked(tmp_path, server.url)

    assert priced.tokens == unpriced.tokens == Tokens(total=1010, input=600, cache_read=400, output=10)
    assert (priced.cost, unpriced.cost) == (Decimal("0.0015"), None)


async def test_an_empty_answer_is_none(tmp_path: Path) -> None:
    async with serve(Script(answers=(ScriptedAnswer(),))) as server:
        probed = await asked(tmp_path, server.url)

    assert not probed.answered and "ended its answer with nothing in it" in probed.message


async def test_an_address_without_a_server_and_a_wrong_path_are_named(tmp_path: Path) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="OK"),))) as server:
        wrong = await asked(tmp_path, f"{server.url}/api")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        nowhere = await asked(tmp_path, f"http://me:{SECRET}@127.0.0.1:{port}/v1")

    assert f"no API at {server.url}/api (404)" in wrong.message
    assert f"no connection to http://127.0.0.1:{port}/v1: Connection refused" in nowhere.message
    assert "provider.own.options.baseURL" in nowhere.remedy and "provider.own.options.baseURL" in wrong.remedy


async def test_the_other_protocols_are_asked_as_well(tmp_path: Path) -> None:
    anthropic = anthropic_messages.Anthropic(anthropic_messages.Answer((anthropic_messages.Text("OK"),)))
    openai = openai_responses.OpenAI(openai_responses.Answer((openai_responses.Text("OK"),)))
    said = []
    for double, package, key in (
        (anthropic.double, "@ai-sdk/anthropic", anthropic_messages.KEY),
        (openai.double, "@ai-sdk/openai", openai_responses.KEY),
    ):
        async with serve_double(double):
            for each in (key, SECRET):
                said.append(await asked(tmp_path, f"{double.url}/v1", model="gpt-5-codex", npm=package, key=each))

    assert [each.answered for each in said] == [True, False, True, False], said
    assert all("rejected the API key (401)" in each.message for each in (said[1], said[3]))


async def test_a_missing_key_is_told_without_a_request(tmp_path: Path) -> None:
    probed = await probe(settings_of(tmp_path / "home", HOME=str(tmp_path)), "anthropic/claude", Config())

    assert not probed.answered and "There is no key for 'anthropic': set ANTHROPIC_API_KEY" in probed.message


async def test_doctor_asks_the_model_of_the_directory_or_the_named_one_while_no_stack_runs(bare: CommandRunner) -> None:
    refusing = ScriptedAnswer(text="OK", faults={2: Refuse(status=401, body={"error": {"message": SECRET}})})
    nothing = ScriptedAnswer(usage=ScriptedUsage(input=1000, output=10))
    async with serve(Script(answers=(refusing,))) as server, serve(Script(answers=(nothing,))) as mute:
        folder = bare.directory.parent / ".config" / "opencode"
        folder.mkdir(parents=True)
        options = {"baseURL": server.url, "apiKey": "{env:OWN_KEY}"}
        priced = {"options": {**options, "baseURL": mute.url}, "models": {"m": {"cost": {"input": 2, "output": 10}}}}
        config = {"model": "own/m", "provider": {"own": {"options": options}, "paid": priced}}
        (folder / "opencode.json").write_text(json.dumps(config))
        person = bare.with_(OWN_KEY=SECRET)
        configured = await person.run("doctor", "--model")
        named = await person.run("doctor", "--model", "own/other", "--json")
        asked = server.last_request
        empty = await person.run("doctor", "--model", "paid/m")
        unknown = await person.run("doctor", "--model", "onw/m")
        lacking = await bare.run("doctor", "--model")

    assert configured.code == 0 and configured.out.startswith("ok  model  own/m answered: 'OK' · after ")
    assert re.search(r" after \d+\.\d s · [\d,]+ tokens · price unknown", " ".join(configured.out.split()))
    assert empty.code == 1 and re.search(
        r"with nothing in it \(stop\) · after \d+\.\d s · 1,010 tokens · \$0\.0021", " ".join(empty.out.split())
    )
    (finding,) = json.loads(named.out)
    assert re.search(r" · after \d+\.\d s$", finding["message"])
    assert named.code == 1 and finding["level"] == "failure" and "rejected the API key (401)" in finding["message"]
    assert asked is not None and asked.body["model"] == "other" and SECRET not in named.out + named.err
    assert unknown.code == 2 and "Did you mean 'own'?" in unknown.err
    assert lacking.code == 1 and "provider.own.options.apiKey is '{env:OWN_KEY}', which is empty here" in lacking.out
    assert not (bare.directory.parent / "home").exists()


async def asked(
    directory: Path,
    url: str,
    *,
    model: str = "m",
    npm: str | None = None,
    key: str = SECRET,
    cost: Any = None,
    **options: Any,
) -> ProbeResult:
    """The result of asking a model of an own provider."""
    settings = settings_of(directory / "home", HOME=str(directory), PATH=os.environ["PATH"], OWN_KEY=key)
    models = {model: {"cost": cost}} if cost else {}
    provider = {"npm": npm, "options": {"baseURL": url, "apiKey": "{env:OWN_KEY}", **options}, "models": models}
    config = Config.model_validate({"provider": {"own": provider}})
    return await probe(settings, f"own/{model}", config, timeout=1.0)
