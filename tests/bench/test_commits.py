"""Commits are compared with the same ones without a question, and with a notification in its place."""

from bench.commits import APPEND, BARE, NOTIFIES


def test_the_transactions_differ_in_their_last_words_only() -> None:
    words, bare, notifies = (query.rpartition(b"SELECT") for query in (APPEND, BARE, NOTIFIES))
    assert words[0] == bare[0] == notifies[0]
    assert (b"followed" in words[2], bare[2].strip(), b"pg_notify" in notifies[2]) == (True, b"", True)
