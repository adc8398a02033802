"""A turn whose next step is to be asked of a scripted model."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.model.endpoints import Endpoints
from activities.model.generate import Model
from activities.model.keys import Keys
from activities.model.patience import Patience
from activities.model.wires.router import WireRouter
from activities.redact import Redactor
from activities.session.describing import nothing
from activities.store import transcript
from activities.tools.table import TOOLS
from tests.activities.scene import Scene
from worker.scripted.server import ModelServer
from workflows.domain.ids import MessageId, Prefix
from workflows.domain.messages import AssistantMessage, ReasoningPart, TextPart, ToolPart
from workflows.domain.wire import GenerateRequest, Step

DAY = 86_400.0


class Asking:
    """A session whose turn is open, and the model that answers it."""

    def __init__(self, scene: Scene, server: ModelServer, adapter: WireRouter) -> None:
        self.scene = scene
        self.server = server
        self.adapter = adapter
        self.patience = Patience(DAY)
        self.worker: Model | None = None  # by default, each attempt comes to a worker that has just been started

    def request(self, **changed: Any) -> GenerateRequest:
        minted = MessageId(self.scene.mint.new(Prefix.MESSAGE))
        given = {"turn": self.scene.turn, "step": 1, "message": minted, **self.scene.place()}
        return GenerateRequest(**{**given, **changed})

    async def generate(self, request: GenerateRequest | None = None, attempt: int = 1) -> Step:
        return await self.scene.act((self.worker or self.started()).generate, request or self.request(), attempt)

    def started(self) -> Model:
        """A worker that has just been started."""
        endpoints = Endpoints(Keys(self.scene.project / "auth.json"), {}, self.adapter)
        database, surveyor = self.scene.database, self.scene.surveyor
        return Model(database, self.adapter, endpoints, surveyor, TOOLS, nothing, Redactor(), self.patience)

    async def failure(self, request: GenerateRequest | None = None, attempt: int = 1) -> ApplicationError:
        with pytest.raises(ApplicationError) as failed:
            await self.generate(request, attempt)
        return failed.value

    async def rested(self) -> None:
        """Let the pause that a failure has caused be over."""
        await self.scene.database.rows(b"UPDATE generation SET next_at = now()")

    def log_in(self, key: str) -> None:
        """Have the configuration hold this key from now on."""
        file = self.scene.config / "opencode.json"
        config = json.loads(file.read_text())
        config["provider"]["scripted"]["options"]["apiKey"] = key
        file.write_text(json.dumps(config))

    async def rows(self) -> str:
        """All that the database holds."""
        database = self.scene.database
        tables = await database.rows(b"SELECT relid::regclass::text AS name FROM pg_stat_user_tables")
        return "".join([str(await database.rows(f"SELECT * FROM {table['name']}".encode())) for table in tables])

    async def parts(self) -> list[list[TextPart | ReasoningPart | ToolPart]]:
        """The parts of all stored answers."""
        async with self.scene.journal() as opened:
            messages = await transcript.read(opened, self.scene.session)
        return [list(message.parts) for message in messages if isinstance(message, AssistantMessage)]

    async def prompts_seen(self) -> list[JsonValue]:
        """What a person has said, as the newest request has it."""
        assert self.server.last is not None
        return [message["content"] for message in self.server.last.body["messages"] if message["role"] == "user"]


Open = Callable[..., AbstractAsyncContextManager[Asking]]
