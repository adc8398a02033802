#!/bin/sh
# Run once by the postgres image, when its data directory is made: a role and its databases for each program.
set -eu

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\set holdfast `cat "${SECRETS:-/run/secrets}/db_holdfast"`
\set temporal `cat "${SECRETS:-/run/secrets}/db_temporal"`
CREATE ROLE holdfast LOGIN PASSWORD :'holdfast';
CREATE DATABASE holdfast OWNER holdfast;
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE holdfast, temporal, temporal_visibility FROM PUBLIC;
SQL
