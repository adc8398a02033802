#!/bin/sh
# Makes the passwords that docker-compose.yml needs, in the directory that is named; what is there already stays.
# Containers read them as different users: the directory is closed to others, the files in it are not.
set -eu

directory=${1:?usage: make-secrets.sh DIRECTORY}
umask 077
mkdir -p "$directory"
chmod 700 "$directory"
secret() {
    [ -s "$directory/$1" ] || printf %s "$2" >"$directory/$1"
    chmod 444 "$directory/$1"
}
random() {
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}
for name in db_admin db_holdfast db_temporal; do
    secret "$name" "$(random)"
done
secret holdfast_url "postgresql://holdfast:$(cat "$directory/db_holdfast")@postgres/holdfast"
