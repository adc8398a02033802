"""The floor is a fair one: the same worker options, and the same requests."""

from pathlib import Path

import httpx
from temporalio.client import Client
from temporalio.worker import WorkerConfig

from activities.model.litellm_model import LiteLLM
from activities.store.database import Database
from bench import floor
from bench.floor import Activities, Template
from worker.assemble import worker
from worker.scripted.conversation import flaw
from worker.settings import Settings

OWN = {"task_queue", "workflows", "activities", "workflow_runner", "client"}
REDACTING = {"interceptors"}  # part of what is measured: the floor keeps no secrets


async def test_its_worker_has_the_options_of_ours(settings: Settings, temporal_client: Client) -> None:
    template = Template(url="http://127.0.0.1:9", directory=Path(), body={})
    async with httpx.AsyncClient() as http:
        theirs = floor.worker(settings, temporal_client, Activities(http, template)).config()
        ours = worker(settings, temporal_client, Database(""), LiteLLM({})).config()
    assert _compared(theirs) == _compared(ours)


def _compared(config: WorkerConfig) -> dict[str, object]:
    return {name: value for name, value in config.items() if name not in OWN | REDACTING}


def test_it_sends_the_exchange_of_a_session_as_often_as_is_due() -> None:
    exchange = [
        {"role": "assistant", "tool_calls": [{"id": "one"}]},
        {"role": "tool", "tool_call_id": "one", "content": "notes"},
    ]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "Hello."}, *exchange]
    template = Template(url="", directory=Path(), body={"model": "scripted", "messages": messages})
    sent = template.request("bench-7", 3)["messages"]
    assert sent[1]["content"] == floor.prompt("bench-7")
    assert [message["role"] for message in sent[2:]] == ["assistant", "tool"] * 3
    assert flaw(sent) is None
