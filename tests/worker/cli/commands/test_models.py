"""`holdfast models` as a process; no stack is started for it."""

import json
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.worker.cli.conftest import CommandRunner

OWN = {
    "options": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "{env:OWN_KEY}"},
    "models": {
        "qwen": {"limit": {"context": 131072, "output": 8192}, "cost": {"input": 0.075, "output": 0}},
        "bare": {},
    },
}

RATES = {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}
MUTE = {"options": {"baseURL": "http://127.0.0.1:9/v1"}}


def configured(person: CommandRunner, **config: Any) -> CommandRunner:
    """The person with a configuration of their own."""
    folder = person.directory.parent / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(json.dumps(config))
    return person


async def test_a_pipe_gets_the_names_that_a_run_takes(bare: CommandRunner) -> None:
    person = configured(bare, provider={"own": OWN}, model="own/qwen").with_(
        ANTHROPIC_API_KEY="very-secret-1", OWN_KEY="k"
    )
    ended = await person.run("models")
    names = ended.out.splitlines()

    assert ended.code == 0 and names[:2] == ["own/qwen", "own/bare"] and "anthropic/claude-sonnet-4-5" in names
    assert {each.partition("/")[0] for each in names} == {"own", "anthropic"}
    assert ended.err == "Without -m, `holdfast run` takes own/qwen here.\n" and "very-secret-1" not in ended.out


async def test_a_terminal_gets_limits_and_prices_in_columns(bare: CommandRunner) -> None:
    async with configured(bare, provider={"own": OWN}).with_(COLUMNS="100", OWN_KEY="k").terminal("models") as terminal:
        heading = await terminal.until(r"model +context +output +\$ in +\$ out")
        described = await terminal.until(r"own/qwen +131,072 +8,192 +0\.075 +0\.00")
        unknown = await terminal.until(r"own/bare +\? +\? +\? +\?")
        await terminal.until("US dollars for a million tokens; [?] is not known")
        assert await terminal.ended() == 0

    assert len({len(each[0]) for each in (described, unknown)}) == 1 and len(heading[0]) == len(unknown[0])


async def test_json_has_what_is_known_of_each_model(bare: CommandRunner) -> None:
    ended = await configured(bare, provider={"own": OWN}).run("models", "--json")

    price = {"input": 0.075, "output": 0.0}
    first, second = json.loads(ended.out)
    assert first == {
        "model": "own/qwen",
        "name": None,
        "configured": True,
        "key": False,
        "context": 131072,
        "output": 8192,
        "price": price,
        "pictures": True,
        "pdf": False,
        "reasoning": True,
        "variants": [],
    }
    assert (second["context"], second["price"]) == (None, None)


async def test_a_provider_is_listed_by_its_name_whether_there_is_a_key_or_not(bare: CommandRunner) -> None:
    named, every = await bare.run("models", "groq"), await bare.with_(OPENAI_API_KEY="k").run("models", "--all")
    table, keyed = await bare.run("models", "groq", "--verbose"), bare.with_(GROQ_API_KEY="k")
    listed = [json.loads((await person.run("models", "groq", "--json")).out) for person in (bare, keyed)]
    local, wrong = await bare.run("models", "ollama"), await bare.run("models", "gropq")

    assert named.code == 0 and named.out and all(each.startswith("groq/") for each in named.out.splitlines())
    assert {*named.out.splitlines()} < {*every.out.splitlines()} and "openai/gpt-5\n" in every.out
    assert "No key here for groq: `holdfast auth login groq` stores one." in named.err
    assert table.out.split()[1] == "key" and table.out.splitlines()[1].split()[1] == "no"
    assert [{each["key"] for each in models} for models in listed] == [{False}, {True}]
    assert "No key here for anthropic, google, " in every.err and "openai" not in every.err.splitlines()[-1]
    assert (local.code, local.out) == (0, "") and "name one that is served there, as -m ollama/NAME" in local.err
    assert wrong.code == 2 and "There is no provider 'gropq'. Did you mean 'groq'?" in wrong.err


async def test_what_names_no_provider_or_no_model_is_said(bare: CommandRunner) -> None:
    model, empty, bare_slash = [
        await bare.run(*words) for words in (("models", "groq/x"), ("models", ""), ("doctor", "--model", "groq/"))
    ]

    assert [each.code for each in (model, empty, bare_slash)] == [2, 2, 2]
    assert "'groq/x' is no provider's name: `holdfast models groq` lists" in model.err
    assert "PROVIDER is empty" in empty.err and "'groq/' names no model after the '/'" in bare_slash.err


async def test_a_name_that_no_table_has_is_answered_with_the_nearest(bare: CommandRunner) -> None:
    person = configured(bare, provider={"own": OWN, "anthropic": {"models": {"my-claude-sonnet": {}}}})
    names = ["anthropic/claude-sonet-4-5", "own/quen", "anthropic/claude-sonnet-4-5", "anthropic/my-claude-sonnet"]
    wrong, described, right, own = [await person.run("doctor", "--model", each) for each in names]
    others = [await bare.run("doctor", "--model", name) for name in ("azure/gpt-5-x", "groq/x")]
    run = await bare.run("run", "-m", names[0], "--variant", "none", "hello")
    remark = "'anthropic/claude-sonet-4-5' is not in the table of models. Did you mean 'anthropic/claude-sonnet-4-5'?"

    assert remark in wrong.err and remark in run.err and run.code == 2
    assert "Did you mean 'own/qwen'?" in described.err
    assert all("Did you mean" not in each.err for each in (right, own, *others))


async def test_without_keys_the_way_to_get_one_is_shown_and_nothing_is_started(bare: CommandRunner) -> None:
    ended = await bare.run("models")

    assert (ended.code, ended.out) == (0, "") and not (bare.directory.parent / "home").exists()
    assert "ANTHROPIC_API_KEY" in ended.err and "holdfast auth login" in ended.err and "models --all" in ended.err


async def test_what_is_configured_wrongly_is_named_and_the_rest_is_listed(bare: CommandRunner) -> None:
    person = configured(bare, provider={"own": OWN, "lost": {"models": {"m": {}}}, "mute": MUTE}, model="lots/m")
    ended = await person.run("models")

    assert ended.code == 0 and ended.out == "own/qwen\nown/bare\n"
    assert "Left out: Provider 'lost' has no address" in ended.err
    assert "No model of mute is listed: name one that is served there, as -m mute/NAME." in ended.err
    assert "the configured model cannot be asked: There is no provider 'lots'. Did you mean 'lost'?" in ended.err


async def test_models_and_providers_are_completed(bare: CommandRunner) -> None:
    person = configured(bare, provider={"own": OWN})
    tab = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    own = await person.with_(**tab, COMP_WORDS="holdfast run -m ow").run()
    known = await person.with_(**tab, COMP_WORDS="holdfast run -m groq/").run()
    providers = await person.with_(**tab | {"COMP_CWORD": "2"}, COMP_WORDS="holdfast models o").run()

    assert own.out.split() == ["plain,own/qwen", "plain,own/bare"] and "plain,groq/" in known.out
    assert providers.out.split() == ["plain,own"] and own.err == known.err == providers.err == ""


async def test_a_newer_table_is_fetched_and_counts_from_then_on(bare: CommandRunner) -> None:
    table = {"anthropic/claude-of-tomorrow": {**RATES, "litellm_provider": "anthropic", "max_input_tokens": 9000}}

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(table)

    app = web.Application()
    app.router.add_get("/table.json", answer)
    async with TestServer(app) as server:
        person = bare.with_(HOLDFAST_MODELS_URL=str(server.make_url("/table.json")))
        fetched = await person.run("models", "anthropic", "--refresh")
        elsewhere = await person.run("models", "anthropic", f"--refresh={server.make_url('/no.json')}")
    later = await bare.run("models", "anthropic", "--verbose", "--json")

    assert fetched.code == 0 and "anthropic/claude-of-tomorrow\n" in fetched.out and "Fetched 1 models" in fetched.err
    assert elsewhere.code == 2 and "status 404; the table is as it was" in elsewhere.err
    found = next(each for each in json.loads(later.out) if each["model"] == "anthropic/claude-of-tomorrow")
    assert (found["context"], found["price"]) == (9000, {"input": 1.0, "output": 2.0})


async def test_without_an_address_nothing_is_fetched(bare: CommandRunner) -> None:
    ended = await bare.run("models", "--refresh")

    assert ended.code == 2 and "HOLDFAST_MODELS_URL" in ended.err and not ended.out


async def test_more_is_said_where_it_is_asked_for(bare: CommandRunner) -> None:
    ended = await bare.with_(ANTHROPIC_API_KEY="k").run("models", "anthropic", "--verbose")

    heading, *rows = ended.out.splitlines()
    assert " ".join(heading.split()) == "model context output $ in $ out $ cached $ caching above sees thinks variants"
    sonnet = next(row for row in rows if "claude-sonnet-4-5 " in row)
    assert "pictures, PDF" in sonnet and sonnet.split()[-3:] == ["yes", "high,", "max"]
    assert "read from the provider's cache" in ended.err


async def test_variants_are_listed_and_completed(bare: CommandRunner) -> None:
    thinks = {"reasoning": True, "variants": {"high": {"disabled": True}, "fast": {"temperature": 0}}}
    person = configured(bare, provider={"own": {**OWN, "models": {"qwq": {}, "o9": thinks}}}, model="own/o9")
    listed = json.loads((await person.run("models", "own", "--json")).out)
    tab = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_CWORD": "5"}
    named = await person.with_(**tab, COMP_WORDS="holdfast run -m anthropic/claude-opus-4-6 --variant m").run()
    own = await person.with_(**tab | {"COMP_CWORD": "3"}, COMP_WORDS="holdfast run --variant ").run()

    assert [each["variants"] for each in listed] == [[], ["low", "medium", "fast"]]
    assert named.out.split() == ["plain,medium", "plain,max"] and named.err == own.err == ""
    assert own.out.split() == ["plain,low", "plain,medium", "plain,fast"]
