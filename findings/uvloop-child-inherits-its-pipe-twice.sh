#!/usr/bin/env bash
# Which descriptors a child has whose output is a pipe, started by asyncio's loop and by uvloop's.
#
# Guessed: the same: 0, 1 and 2, and nothing of ours, as `close_fds` says.
# Seen with uvloop 0.22.1, Python 3.11, Linux: under uvloop the child has a second, inheritable descriptor of the pipe
# beside its standard output. A child that becomes a daemon and closes 0, 1 and 2 therefore keeps the pipe open, and
# `communicate()` waits for the daemon's end; under asyncio's own loop it ends at once.
# So a program that leaves a daemon is started from a thread, by `subprocess`, where uvloop runs.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check uvloop==0.22.1
cat >daemon.py <<'P'
import os
import time

if os.fork() == 0:
    os.setsid()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(3)
    os._exit(0)
P
cat >probe.py <<'P'
import asyncio
import sys
import time

import uvloop


async def seconds() -> float:
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(sys.executable, "daemon.py", stdout=asyncio.subprocess.PIPE)
    await process.communicate()
    return time.monotonic() - began


print("asyncio: waits for the daemon:", asyncio.run(seconds()) > 2)
print("uvloop: waits for the daemon:", uvloop.run(seconds()) > 2)
P
seen=$(env/bin/python probe.py)
echo "$seen"
[ "$seen" = "asyncio: waits for the daemon: False
uvloop: waits for the daemon: True" ]
echo "as stated"
