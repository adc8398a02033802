#!/bin/sh
# Runs a program that takes passwords from its environment only: they are read from files, and given to it alone.
set -eu

for name in POSTGRES_PWD SQL_PASSWORD; do
    eval "file=\${${name}_FILE:-}"
    if [ -n "$file" ]; then
        value=$(cat "$file")
        export "$name=$value"
    fi
done
exec "$@"
