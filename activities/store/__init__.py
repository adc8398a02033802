"""Postgres: one file per noun, named queries in queries/, numbered migrations."""
