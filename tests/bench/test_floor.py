"""The floor is a fair one: the same worker options, and the same requests."""

from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest
from temporalio.client import Client
from temporalio.worker import WorkerConfig

from activities.model.wires.router import WireRouter
from activities.stop_interceptor import StopInterceptor
from activities.store.database import Database
from bench import floor
from bench.floor import Activities, RequestTemplate
from worker.assemble import build_worker
from worker.scripted.conversation_check import find_flaw
from worker.settings import Settings

OWN = {"task_queue", "workflows", "activities", "workflow_runner", "client"}
REDACTING = {"interceptors"}  # part of what is measured: the floor keeps no secrets


async def test_its_worker_has_the_options_of_ours(settings: Settings, temporal_client: Client) -> None:
    template = RequestTemplate(url="http://127.0.0.1:9", directory=Path(), body={})
    async with httpx.AsyncClient() as http:
        theirs = floor.worker(settings, temporal_client, Activities(http, template), "floor").config()
        ours = build_worker(
            settings, temporal_client, Database(""), WireRouter({}), StopInterceptor(Database(""))
        ).config()
    assert _compared(theirs) == _compared(ours)


def _compared(config: WorkerConfig) -> dict[str, object]:
    return {name: value for name, value in config.items() if name not in OWN | REDACTING}


@pytest.mark.parametrize(
    ("step", "sent"), [(0, []), (1, ["first"]), (2, ["first", "second"]), (4, ["first", *["second"] * 3])]
)
def test_it_sends_the_steps_of_a_session_the_second_as_often_as_is_due(step: int, sent: list[str]) -> None:
    steps = [exchange(text) for text in ("first", "second")]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "Hello."}, *chain.from_iterable(steps)]
    template = RequestTemplate(url="", directory=Path(), body={"model": "scripted", "messages": messages})
    system, user, *rest = template.request("bench-7", step)["messages"]
    assert (system, user["content"]) == (messages[0], floor.prompt("bench-7"))
    assert rest == list(chain.from_iterable(map(exchange, sent)))
    assert find_flaw([system, user, *rest]) is None


def exchange(text: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": text, "tool_calls": [{"id": text}]},
        {"role": "tool", "tool_call_id": text, "content": "notes"},
    ]
