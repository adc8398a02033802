"""What a turn would use is found out by the client: without a terminal, and before anything is sent."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Harness
from worker import credential_handoff
from worker.project_config import sources_of
from worker.settings import Settings
from worker.trust_client import list_trust
from worker.turn_preparation import Preparation, joined_turn_remarks, prepare_first_turn, prepare_next_turn
from workflows.domain.budgets import BudgetLimits, ChosenLimits
from workflows.domain.errors import ConfigError, MissingKey, MisspeltModel, UnchosenModel, UnknownAgent, UsageError
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt, PromptMode

ONE_DOLLAR = ChosenLimits(session=BudgetLimits(cost=Decimal(1)))
KNOWN = {"model": {"cost": {"input": 1, "output": 2}, "variants": {"deep": {}, "fast": {}}}}


class Door:
    """A person's directory and shell, with two providers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir()
        self.variables: dict[str, str] = {}
        self.configure_person()

    def configure_person(self, models: dict[str, Any] = KNOWN, **config: Any) -> None:
        own = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": models}
        file = self.home / ".config" / "opencode" / "opencode.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"provider": {"own": own, "other": own}, **config}))

    def configure_project(self, **config: Any) -> None:
        (self.project / "opencode.json").write_text(json.dumps(config))

    @property
    def settings(self) -> Settings:
        own = {"HOME": str(self.home), "HOLDFAST_HOME": str(self.home / "holdfast"), **self.variables}
        return Settings.read(own)

    async def prepare(
        self, model: str | None = "own/model", limits: ChosenLimits | None = None, text: str = "go", **more: Any
    ) -> Preparation:
        named = {name: more.pop(name) for name in ("any_model", "default_model") if name in more}
        prompt, sources = Prompt.of_text(text, model=model, **more), sources_of(self.settings)
        return await prepare_first_turn(self.settings, self.project, prompt, sources, limits or ChosenLimits(), **named)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


async def test_what_the_turn_would_use_is_a_value(door: Door) -> None:
    found = await door.prepare(variant="deep", limits=ONE_DOLLAR)

    config = found.require_config()
    assert (found.model, found.default_model, config.agent.name) == ("own/model", None, "build")
    assert found.remarks == [] and found.refusal is None and found.configuration(Prompt(parts=())) == config.id


async def test_a_person_may_choose_a_model_where_nothing_names_one(door: Door) -> None:
    asked = await door.prepare(None)
    answered = await door.prepare(None, default_model="other/model")
    door.configure_person(disabled_providers=["other"])
    only = await door.prepare(None)

    assert isinstance(asked.refusal, UnchosenModel) and asked.refusal.models == ("own/model", "other/model")
    with pytest.raises(UnchosenModel, match="2 providers can be asked. Name one with -m: own/model, other/model"):
        asked.require_config()
    assert (answered.refusal, answered.model, answered.default_model) == (None, "other/model", "other/model")
    assert only.default_model == "own/model"
    assert only.remarks == ["own/model (nothing is configured; `run -m` changes it)"]


async def test_a_misspelt_model_is_a_question_with_the_one_that_was_meant(door: Door) -> None:
    asked = await door.prepare("own/modell")
    taken = await door.prepare("own/modell", any_model=True)

    assert isinstance(asked.refusal, MisspeltModel) and asked.refusal.meant == "own/model"
    assert asked.refusal.question.endswith("Did you mean 'own/model'?")
    assert taken.refusal is None and taken.model == "own/modell"


@pytest.mark.parametrize(
    ("wrong", "refusal", "message"),
    [
        ({"model": "nowhere/m"}, UsageError, "There is no provider 'nowhere'"),
        ({"variant": "no"}, UsageError, "has no variant 'no'. It has: deep, fast"),
        ({"agent": "explore"}, UnknownAgent, "explore"),
        ({"model": "own/bare", "limits": ONE_DOLLAR}, UsageError, r"provider\.own\.models\.bare\.cost"),
        ({"model": "anthropic/claude-sonnet-4-6"}, MissingKey, "There is no key for 'anthropic'"),
    ],
    ids=["model", "variant", "agent", "price", "key"],
)
async def test_what_is_known_to_fail_is_refused_and_keeps_what_else_is_to_be_said(
    door: Door, wrong: dict[str, Any], refusal: type[UsageError], message: str
) -> None:
    door.configure_person({**KNOWN, "bare": {}}, lsp={"server": {"command": ["x"]}})
    door.variables = {"CORP_KEY": "k"}

    found = await door.prepare(**wrong)

    assert type(found.refusal) is refusal
    with pytest.raises(refusal, match=message):
        await found.hand_over_credentials()
    assert credential_handoff.handed_off_names(door.settings) == ()
    if "agent" not in wrong:
        assert any("lsp" in each for each in found.config_remarks)


async def test_a_configuration_that_cannot_be_read_is_a_refusal(door: Door) -> None:
    door.configure_project(permission={"bash": "perhaps"})

    found = await door.prepare()

    assert isinstance(found.refusal, ConfigError) and found.turn_config is None and not found.waits_for_trust


async def test_what_of_the_project_waits_for_trust_is_another_question(door: Door) -> None:
    without = await door.prepare()
    door.configure_project(provider={"theirs": {"options": {"baseURL": "http://127.0.0.1:9/v1"}}})
    waiting = await door.prepare()
    refused = await door.prepare("theirs/m")

    assert (without.waits_for_trust, waiting.waits_for_trust, waiting.refusal) == (False, True, None)
    assert any(each.startswith("Not there until a person accepts it") for each in waiting.config_remarks)
    assert refused.waits_for_trust and "once you accept them: `holdfast trust`" in str(refused.refusal)


async def test_keys_are_handed_over_as_it_is_sent_and_not_before(door: Door) -> None:
    door.variables = {"OWN_KEY": "1", "ANTHROPIC_API_KEY": "2", "UNNAMED": "3"}
    door.configure_person({"model": {"options": {"user": "{env:OWN_KEY}"}}})

    found = await door.prepare()
    before = credential_handoff.handed_off_names(door.settings)
    await found.hand_over_credentials()

    assert (before, credential_handoff.handed_off_names(door.settings)) == ((), ("ANTHROPIC_API_KEY", "OWN_KEY"))


async def test_a_remark_is_one_line_and_is_not_escaped_for_a_terminal(door: Door) -> None:
    door.variables = {"ANTHROPIC_API_KEY": "k"}

    (found,) = (await door.prepare("anthropic/claude-sonnet-99\n\x1b[1m", any_model=True)).remarks

    assert found.startswith("anthropic/claude-sonnet-99 \x1b[1m is not in the table of models: ")


async def test_a_file_that_the_model_cannot_see_is_named_once(door: Door) -> None:
    (door.project / "a.pdf").touch()
    (door.project / "b.txt").touch()

    (found,) = (await door.prepare(text="read @a.pdf @a.pdf#1-2 @b.txt")).remarks

    assert found == "own/model cannot read PDF files, as far as is known: it learns only that a.pdf is there."


async def seeded(harness: Harness, **prompt: Any) -> SessionId:
    harness.configure_person(model=KNOWN["model"])
    return (await harness.client.start(str(harness.project), Prompt.of_text("go", **prompt))).session


async def next_turn(harness: Harness, session: SessionId, prompt: Prompt, **more: Any) -> Preparation:
    return await prepare_next_turn(harness.client, await harness.client.sessions.get(session), prompt, **more)


async def test_a_session_keeps_its_model_and_its_configuration(harness: Harness) -> None:
    session = await seeded(harness, model="scripted/model")
    environment = {**harness.settings.environment, "OPENCODE_PERMISSION": '{"bash": "deny"}'}
    harness.use_settings(harness.settings.model_copy(update={"environment": environment}))

    kept = await next_turn(harness, session, Prompt.of_text("on"))
    new = await next_turn(harness, session, Prompt.of_text("on"), config="here")
    more = await next_turn(harness, session, Prompt.of_text("on"), ask=("edit",))

    assert kept.model == new.model == "scripted/model" and kept.sources is None and kept.late_remarks == []
    assert kept.remarks == [
        "The session keeps the configuration it was started with; this shell has another OPENCODE_PERMISSION. "
        "To use this shell's: --config here"
    ]
    assert new.sources is not None and new.sources.permission == {"permission": {"bash": "deny"}} and new.remarks == []
    assert new.late_remarks == ["From its next turn on the session uses this shell's OPENCODE_PERMISSION."]
    assert more.sources is not None and (more.sources.ask, more.sources.permission) == (("edit",), None)


async def test_a_prompt_of_a_session_is_judged_as_a_first_one(harness: Harness) -> None:
    session = await seeded(harness, model="scripted/model")
    unpriced = Prompt.of_text("on", model="scripted/bare")
    wrong = {
        "no provider 'nowhere'": await next_turn(harness, session, Prompt.of_text("on", model="nowhere/m")),
        "has no variant 'no'": await next_turn(harness, session, Prompt.of_text("on", variant="no")),
        "explore": await next_turn(harness, session, Prompt.of_text("on", agent="explore")),
        "scripted": await next_turn(harness, session, unpriced, limits=ONE_DOLLAR),
    }
    misspelt = await next_turn(harness, session, Prompt.of_text("on", model="scripted/modell"))

    assert [text for text, found in wrong.items() if text not in str(found.refusal)] == []
    assert misspelt.refusal is None and misspelt.model == "scripted/modell"
    assert misspelt.remarks[0].startswith("Warning: ") and "Did you mean 'scripted/model'?" in misspelt.remarks[0]


async def test_what_a_person_has_accepted_waits_no_more(harness: Harness) -> None:
    session = await seeded(harness, model="scripted/model")
    harness.configure(provider={"theirs": {"options": {"baseURL": "http://127.0.0.1:9/v1"}}})
    on = Prompt.of_text("on")

    before = await next_turn(harness, session, on)
    listing = await list_trust(harness.settings, harness.client.trust, harness.project)
    await harness.client.trust.decide(listing, accept=True)
    after = await next_turn(harness, session, on)

    assert (before.waits_for_trust, after.waits_for_trust) == (True, False)


async def test_on_another_host_nothing_is_read_and_nothing_handed_over(harness: Harness) -> None:
    session = await seeded(harness, model="scripted/model")
    overview = (await harness.client.sessions.get(session)).model_copy(update={"host": "far"})

    there = await prepare_next_turn(harness.client, overview, Prompt.of_text("on", model="nowhere/m"))
    here = await prepare_next_turn(harness.client, overview, Prompt.of_text("on"), config="here")
    await there.hand_over_credentials()

    assert there == Preparation(harness.settings)
    with pytest.raises(UsageError, match="on another host"):
        there.require_config()
    with pytest.raises(UsageError, match="on host 'far': use `--config here` there"):
        await here.hand_over_credentials()
    assert not harness.settings.credentials_file.exists()


async def test_a_prompt_for_another_agent_that_joins_the_open_turn_is_a_remark(harness: Harness) -> None:
    overview = await harness.client.sessions.get(await seeded(harness, model="scripted/model"))
    opened, planned = overview.model_copy(update={"turn_state": "open"}), Prompt.of_text("on", agent="plan")

    (joined,) = joined_turn_remarks(opened, planned)
    without = [
        *joined_turn_remarks(overview, planned),
        *joined_turn_remarks(opened, Prompt.of_text("on", agent=opened.agent)),
        *joined_turn_remarks(opened, planned.model_copy(update={"mode": PromptMode.QUEUE})),
        *joined_turn_remarks(opened, planned.model_copy(update={"system": "Be short."})),
    ]

    assert joined.endswith("plan works in a turn that begins with a prompt: send it with --queue.") and without == []
