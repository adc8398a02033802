#!/bin/sh
# Brings Temporal's two databases to the schema of this image's version. Running it again changes nothing.
# From one minor version of the server to the next, one at a time: run the schema job before the new server.
set -eu

schema=${SCHEMA:-/etc/temporal/schema}/postgresql/v12
bring_up() {
    temporal-sql-tool --database "$1" setup-schema --version 0.0
    temporal-sql-tool --database "$1" update-schema --schema-dir "$schema/$2/versioned"
}
bring_up temporal temporal
bring_up temporal_visibility visibility
