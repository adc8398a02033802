#!/bin/sh
# Makes the namespace, once. What happened is kept in PostgreSQL: closed runs may be forgotten after a week.
set -eu

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 7d
