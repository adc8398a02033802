"""Postgres: one file per noun, named queries in queries/, numbered migrations.

Whatever reaches the database raises Unavailable while it is away.
"""
