"""A turn whose next step asks a scripted model."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import date
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.calls.description import describe_nothing
from activities.credentials.keys import Keys
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempts
from activities.model.endpoints import EndpointResolver
from activities.model.generate import Model
from activities.model.retry_budget import RetryBudget
from activities.model.wires.router import WireRouter
from activities.new_ids import new_id
from activities.redact import Redactor
from activities.store import transcript
from activities.tools.registry import TOOLS
from activities.turn_tools import TurnTools
from tests.activities.rig import ActivityRig
from worker.scripted.model_server import ModelServer
from workflows.domain.ids import GenerationId, Prefix
from workflows.domain.messages import AssistantMessage, ReasoningPart, TextPart, ToolPart
from workflows.domain.wire import GenerateRequest, StepResult

DAY = 86_400.0


class ModelRig:
    """A session with an open turn, and its model."""

    def __init__(self, rig: ActivityRig, server: ModelServer, adapter: WireRouter) -> None:
        self.rig = rig
        self.server = server
        self.adapter = adapter
        self.retry_budget = RetryBudget(DAY)
        self.worker: Model | None = None  # by default, a newly started worker for each attempt
        self.today = date(2026, 1, 31)

    def request(self, **changed: Any) -> GenerateRequest:
        minted = GenerationId(new_id(Prefix.GENERATION))
        given = {"turn": self.rig.turn, "step": 1, "generation": minted, **self.rig.request_fields()}
        return GenerateRequest(**{**given, **changed})

    async def generate(self, request: GenerateRequest | None = None, attempt: int = 1) -> StepResult:
        return await self.rig.act((self.worker or self.started()).generate, request or self.request(), attempt)

    def started(self) -> Model:
        """A newly started worker."""
        endpoints = EndpointResolver(Keys(self.rig.project / "auth.json"), {}, self.adapter)
        attempts = Attempts(self.rig.database, Redactor(), self.retry_budget)
        answers = AnswerStream(self.adapter)
        return Model(
            attempts,
            answers,
            endpoints,
            self.rig.loader,
            TurnTools(TOOLS),
            describe_nothing,
            today=lambda: self.today,
        )

    async def failure(self, request: GenerateRequest | None = None, attempt: int = 1) -> ApplicationError:
        with pytest.raises(ApplicationError) as failed:
            await self.generate(request, attempt)
        return failed.value

    async def rested(self) -> None:
        """End the pause after a failure."""
        await self.rig.database.rows(b"UPDATE generation SET next_at = now()")

    def log_in(self, key: str) -> None:
        """Put this key into the configuration."""
        file = self.rig.config / "opencode.json"
        config = json.loads(file.read_text())
        config["provider"]["scripted"]["options"]["apiKey"] = key
        file.write_text(json.dumps(config))

    async def rows(self) -> str:
        """All rows of the database."""
        database = self.rig.database
        tables = await database.rows(b"SELECT relid::regclass::text AS name FROM pg_stat_user_tables")
        return "".join([str(await database.rows(f"SELECT * FROM {table['name']}".encode())) for table in tables])

    async def parts(self) -> list[list[TextPart | ReasoningPart | ToolPart]]:
        """The parts of all stored answers."""
        async with self.rig.journal() as journal:
            messages = await transcript.read(journal, self.rig.session)
        return [list(message.parts) for message in messages if isinstance(message, AssistantMessage)]

    async def prompts_seen(self) -> list[JsonValue]:
        """The person's texts in the newest request, the first one without the date."""
        texts = [message["content"] for message in self.sent["messages"] if message["role"] == "user"]
        return [texts[0].partition("</system-reminder>\n\n")[2], *texts[1:]]

    @property
    def sent(self) -> Mapping[str, Any]:
        """The newest request's body."""
        assert self.server.last_request is not None
        return self.server.last_request.body


Open = Callable[..., AbstractAsyncContextManager[ModelRig]]
