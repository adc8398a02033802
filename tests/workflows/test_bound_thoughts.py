"""A provider that takes a thought back only after just what it was given after refuses none, whatever changes."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import pytest

from tests.harness import Harness
from tests.providers import anthropic_messages, bedrock_converse, google_gemini, openai_responses, openrouter_chat
from tests.providers.behaviours.answers import PNG
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.openrouter_wire import OpenRouterWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.script import Answer, Call, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.preserved_thinking import PreservedThinking
from tests.providers.provider_double import RefusedRequest, serve_double
from tests.providers.vertex_wires import VertexClaudeWire
from tests.workflows.conftest import Open
from tests.workflows.delegation import children
from worker.scripted.script import ScriptedAnswer
from workflows.domain.events.generations import ContextCompacted, ContextPruned
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt

LOOK: Final = Answer((Thought("What is here?"), Call("glob", '{"pattern": "*"}')))
SUMMARY: Final = "## Objective\nLook.\n\n## Work state\nnone\n\n## Next move\nLook again."
RENDERED_OTHERWISE: Final = b"UPDATE call SET outcome = replace(outcome::text, 'a.png', 'b.png')::json"
LIMIT: Final = {"context": 200_000, "output": 32_000}


def anthropics(words: str) -> RefusedRequest:
    return RefusedRequest(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})


@dataclass
class Service:
    """A provider of the newest Claude, and how a person configures it."""

    provider: ClassVar[str]
    model: ClassVar[str]
    wire: WireUnderTest
    sent: list[int] = field(default_factory=list)  # by PreservedThinking
    failed: list[str] = field(default_factory=list)

    def forget(self) -> None:
        """From now on another account of the provider is asked: its thoughts are none of this one's."""
        raise NotImplementedError

    def options(self, url: str) -> dict[str, Any]:
        raise NotImplementedError


class OfClaude(Service):
    """`refusal`: as in PreservedThinking."""

    def __init__(self, wire: WireUnderTest, refusal: Callable[[str], RefusedRequest]) -> None:
        self.thinking = PreservedThinking(wire.double, refusal)
        super().__init__(wire, self.thinking.sent, self.thinking.failed)

    def forget(self) -> None:
        self.thinking.bound.clear()


class OfAnthropic(OfClaude):
    provider, model = "anthropic", "claude-opus-5-5"

    def __init__(self) -> None:
        super().__init__(AnthropicWire(), anthropics)

    def options(self, url: str) -> dict[str, Any]:
        return {"baseURL": f"{url}/v1", "apiKey": anthropic_messages.KEY}


class OfVertex(OfClaude):
    provider, model = "google-vertex-anthropic", "claude-opus-5-5"

    def __init__(self) -> None:
        super().__init__(VertexClaudeWire(), anthropics)

    def options(self, url: str) -> dict[str, Any]:
        signed = {"authorization": f"Bearer {anthropic_messages.TOKEN}"}
        return {"baseURL": f"{url}{anthropic_messages.VERTEX_MODELS}", "headers": signed, "project": "some-project"}


class OfBedrock(OfClaude):
    provider, model = "amazon-bedrock", bedrock_converse.NEWEST_CLAUDE

    def __init__(self) -> None:
        def refuse(words: str) -> RefusedRequest:
            return bedrock_converse.refused(400, "ValidationException", words)

        super().__init__(BedrockWire(), refuse)

    def options(self, url: str) -> dict[str, Any]:
        return {"endpoint": url, "apiKey": bedrock_converse.API_KEY, "region": "us-east-1"}


class OfOpenRouter(OfClaude):
    provider, model = "openrouter", openrouter_chat.NEWEST_CLAUDE

    def __init__(self) -> None:
        def refuse(words: str) -> RefusedRequest:
            return RefusedRequest(400, openrouter_chat.passed_on("Anthropic", {"error": {"message": words}}))

        super().__init__(OpenRouterWire(), refuse)

    def options(self, url: str) -> dict[str, Any]:
        return {"baseURL": f"{url}/api/v1", "apiKey": openrouter_chat.KEY}


class OfOpenAI(Service):
    provider, model = "openai", "gpt-5.3-codex"

    def __init__(self) -> None:
        self.openai = openai_responses.OpenAI()
        super().__init__(ResponsesWire(self.openai))

    def forget(self) -> None:
        self.openai.made = dict.fromkeys(self.openai.made, "of another account")

    def options(self, url: str) -> dict[str, Any]:
        return {"baseURL": f"{url}/v1", "apiKey": openai_responses.KEY}


class OfGoogle(Service):
    provider, model = "google", "gemini-3.1-pro-preview"

    def __init__(self) -> None:
        self.gemini = GeminiWire()
        super().__init__(self.gemini)

    def forget(self) -> None:
        self.gemini.service.signed.clear()

    def options(self, url: str) -> dict[str, Any]:
        return {"baseURL": f"{url}/v1beta", "apiKey": google_gemini.KEY}


def done(turn: int) -> Answer:
    return Answer((Thought("That was it."), Text(f"Done with {turn}.")))


SERVICES: Final = (OfAnthropic, OfVertex, OfBedrock, OfOpenRouter)
SIGNED: Final = re.compile(r'"(signature|encrypted_content|thoughtSignature)": "(?!skip_)')


class Talk:
    """A session with the service. Each turn takes two steps, so that the second one sends the first one's thought."""

    session: SessionId

    def __init__(self, harness: Harness, service: Service) -> None:
        self.harness, self.service = harness, service
        self.model = f"{service.provider}/{service.model}"
        self.turns = 0

    def configure(self, *, seeing: bool = True, **config: Any) -> None:
        """The person's own configuration, which keeps the scripted model."""
        service, file = self.service, self.harness.settings.config / "opencode.json"
        known = json.loads(file.read_text())
        modalities = {"input": ["text", "image"] if seeing else ["text"], "output": ["text"]}
        models = {service.model: {"reasoning": True, "attachment": seeing, "modalities": modalities, "limit": LIMIT}}
        entry = {"options": service.options(service.wire.double.url), "models": models}
        file.write_text(json.dumps(known | {"provider": known["provider"] | {service.provider: entry}} | config))

    async def begin(self, agent: str = "build") -> None:
        self.service.wire.play(LOOK, done(0))
        prompt = Prompt.of_text("Look.", model=self.model, agent=agent)
        self.session = (await self.harness.client.start(str(self.harness.project), prompt)).session
        await self.ended()

    async def turn(self, *answers: Answer, **prompt: Any) -> list[int]:
        """How many thoughts each step of the turn sent."""
        before = len(self.service.sent)
        self.service.wire.play(*(answers or (LOOK,)), done(self.turns))
        await self.harness.client.prompt(self.session, Prompt.of_text("Look again.", **prompt))
        await self.ended()
        return self.service.sent[before:]

    async def ended(self) -> None:
        self.turns += 1
        ended = await self.harness.ended(self.session, self.turns)
        assert (getattr(ended, "reason", ""), self.service.failed) == ("done", [])


@pytest.fixture(params=SERVICES, ids=[each.__name__ for each in SERVICES])
def service(request: pytest.FixtureRequest) -> Service:
    made: Service = request.param()
    return made


async def test_a_session_without_changes_sends_all_its_thoughts(open_harness: Open, service: Service) -> None:
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        talk = Talk(harness, service)
        talk.configure()
        await talk.begin()
        sent = [await talk.turn(), await talk.turn()]
    assert service.sent[:2] == [0, 1] and sent == [[2, 3], [4, 5]]


async def test_what_changes_before_a_thought_keeps_it_out(open_harness: Open, service: Service) -> None:
    """The agent, its instructions, the project's rules and a new subagent; then all as it was in the beginning."""
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        talk = Talk(harness, service)
        talk.configure()
        await talk.begin(agent="plan")
        sent = [await talk.turn(agent="build")]
        instructions = harness.file("AGENTS.md", "Be brief.")
        sent.append(await talk.turn())
        harness.configure(permission={"task": "deny"})
        sent.append(await talk.turn())
        harness.configure()
        subagent = harness.file(".opencode/agents/helper.md", "---\ndescription: Helps\nmode: subagent\n---\nHelp.")
        sent += [await talk.turn(), await talk.turn()]
        for each in (instructions, subagent):
            each.unlink()
        sent.append(await talk.turn(agent="plan"))
    assert sent == [[0, 1], [0, 1], [0, 1], [0, 1], [2, 3], [0, 1]]


async def test_a_summary_of_the_beginning_keeps_out_the_thoughts_behind_it(
    open_harness: Open, service: Service
) -> None:
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        talk = Talk(harness, service)
        talk.configure(compaction={"preserve_recent_tokens": 60})
        await talk.begin()
        await talk.turn()
        await talk.turn()
        service.wire.play(Answer((Text(SUMMARY),)))
        await harness.client.compact(talk.session)
        await talk.ended()
        kept = [event for event in await harness.events(talk.session) if isinstance(event, ContextCompacted)]
        sent = [await talk.turn(), await talk.turn()]
        tail = str(service.wire.double.asked[-4]["messages"])
    assert len(kept) == 1 and "Done with 2." in tail and sent == [[0, 1], [2, 3]]


async def test_a_cleared_result_keeps_out_the_thoughts_behind_it(open_harness: Open, service: Service) -> None:
    reads = Answer((Thought("Long."), *(Call("read", json.dumps({"filePath": f"long{n}.txt"})) for n in range(6))))
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        for number in range(6):
            harness.file(f"long{number}.txt", f"{'x' * 99}\n" * 480)
        talk = Talk(harness, service)
        talk.configure(compaction={"prune": True})
        await talk.begin()
        sent = [await talk.turn(reads), *[await talk.turn() for _ in range(4)]]
        pruned = [event for event in await harness.events(talk.session) if isinstance(event, ContextPruned)]
    assert pruned and sent[0] == [2, 3] and [0, 1] in sent and sent[-1][0] > 1


async def test_what_is_rendered_otherwise_keeps_out_the_thoughts_behind_it(
    open_harness: Open, service: Service
) -> None:
    """A table by which the model sees no pictures, and an older result in other words, as an upgrade may have it."""
    shown = Answer((Thought("A picture."), Call("read", json.dumps({"filePath": "a.png"}))))
    async with open_harness() as harness, serve_double(service.wire.double):
        harness.file("a.png", "").write_bytes(b64decode(PNG))
        talk = Talk(harness, service)
        talk.configure()
        async with harness.running_worker():
            await talk.begin()
            sent = [await talk.turn(shown), await talk.turn()]
            talk.configure(seeing=False)
            sent.append(await talk.turn())
        async with harness.database.transaction() as connection:
            await connection.execute(RENDERED_OTHERWISE)
        async with harness.running_worker():  # without the first one's memory
            sent.append(await talk.turn())
    assert sent == [[2, 3], [4, 5], [0, 1], [0, 1]]


async def test_a_subagent_that_is_asked_again_keeps_its_thoughts(open_harness: Open, service: Service) -> None:
    task = {"description": "look", "prompt": "Look.", "subagent_type": "explore"}
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        talk = Talk(harness, service)
        talk.configure()
        await talk.begin()
        found = Answer((Thought("Found."), Text("It is line 1.")))
        sent = [await talk.turn(Answer((Thought("A task."), Call("task", json.dumps(task)))), found)]
        (child,) = await children(harness, talk.session)
        again = Call("task", json.dumps(task | {"task_id": child}))
        sent.append(await talk.turn(Answer((Thought("Again."), again)), Answer((Thought("Ah."), Text("Line 2.")))))
    assert sent == [[2, 0, 3], [4, 1, 5]]


async def test_another_model_between_keeps_the_thoughts_of_the_first(open_harness: Open, service: Service) -> None:
    async with (
        open_harness(*[ScriptedAnswer(text="From another.")] * 4) as harness,
        serve_double(service.wire.double),
        harness.running_worker(),
    ):
        talk = Talk(harness, service)
        talk.configure()
        await talk.begin()
        assert await talk.turn(model="scripted/model") == []
        assert await talk.turn(model=talk.model) == [2, 3]


async def test_forks_keep_the_thoughts_and_imports_do_not(open_harness: Open, service: Service) -> None:
    async with open_harness() as harness, serve_double(service.wire.double), harness.running_worker():
        talk = Talk(harness, service)
        talk.configure()
        await talk.begin()
        exported = harness.settings.home / "exported.json"
        exported.parent.mkdir(parents=True, exist_ok=True)
        exported.write_text(await export(harness, talk.session))
        talk.session, talk.turns = (await harness.client.copies.fork_session(talk.session)).session, 0
        forked = await talk.turn(model=talk.model)
        imported = await harness.client.copies.import_session(exported, str(harness.project))
        talk.session, talk.turns = imported.session, 0
        copied = await talk.turn(model=talk.model)
    assert (forked, copied) == ([2, 3], [0, 1])


async def test_a_retried_turn_and_another_worker_keep_the_thoughts(open_harness: Open, service: Service) -> None:
    async with open_harness() as harness, serve_double(service.wire.double):
        talk = Talk(harness, service)
        talk.configure()
        async with harness.running_worker():
            await talk.begin()
            with failing(service):
                await harness.client.prompt(talk.session, "Look again.")
                talk.turns += 1
                await harness.ended(talk.session, talk.turns)
        async with harness.running_worker():
            service.wire.play(LOOK, done(9))
            await harness.client.retry(talk.session)
            await talk.ended()
    assert service.sent == [0, 1, 2, 3]


@pytest.mark.parametrize("made", [*SERVICES, OfOpenAI, OfGoogle])
async def test_refused_thoughts_are_sent_no_more(open_harness: Open, made: Callable[[], Service]) -> None:
    service = made()
    async with open_harness() as harness, serve_double(service.wire.double):
        talk = Talk(harness, service)
        talk.configure()
        async with harness.running_worker():
            await talk.begin()
            service.forget()
            await talk.turn()
        async with harness.running_worker():  # without the first one's memory
            await talk.turn()
    counts = [len(SIGNED.findall(json.dumps(body))) for body in service.wire.double.asked]
    refused, again, following, _, newer = counts[2:]
    assert refused > 0 and (again, following) == (0, 0) and newer > 0


@contextmanager
def failing(service: Service) -> Iterator[None]:
    """The service knows no such model for a while."""
    check = service.wire.double.check
    service.wire.fail(next(each for each in service.wire.failures if each.name == "MODEL"))
    yield
    service.wire.double.check = check


async def export(harness: Harness, session: SessionId) -> str:
    from worker.opencode.export import Exporter

    records, overview = harness.client.records, await harness.client.sessions.get(session)
    exporter = Exporter(overview, overview.directory, summaries=await records.summaries(session))
    sessions = harness.client.sessions
    info = exporter.info(await sessions.origin(session), await sessions.totals(session), "global", "1")
    return "".join([piece async for piece in exporter.document(info, records.messages(session))])
