"""The counting proxy: what it reads off the wire, and that nothing changes on the way."""

from pathlib import Path

import psycopg

from bench.counting_proxy import CountedConnection, Frontend, TransactionLog, counting_proxy


def message(kind: bytes, payload: bytes) -> bytes:
    return kind + (len(payload) + 4).to_bytes(4, "big") + payload


GREETING = message(b"", b"user\0holdfast\0\0")


def test_statements_are_found_however_the_bytes_are_cut() -> None:
    frontend = Frontend()
    sent = GREETING + message(b"Q", b"BEGIN\0") + message(b"P", b"\0SELECT 1\0\0\0") + message(b"B", b"\0\0\0\0")
    sent += message(b"E", b"\0\0\0\0\0")
    pieces = (sent[start : start + 3] for start in range(0, len(sent), 3))
    assert [statement for piece in pieces for statement in frontend.statements(piece)] == ["BEGIN", "SELECT 1"]


def test_a_prepared_statement_is_known_by_its_text_later() -> None:
    frontend = Frontend()
    list(frontend.statements(GREETING + message(b"P", b"one\0SELECT 1\0\0\0")))
    again = message(b"B", b"\0one\0\0\0") + message(b"E", b"\0\0\0\0\0")
    assert list(frontend.statements(again)) == ["SELECT 1"]


SYNC = message(b"S", b"")


def said(statement: bytes) -> bytes:
    return message(b"P", b"\0" + statement + b"\0\0\0") + message(b"B", b"\0\0\0\0") + message(b"E", b"\0\0\0\0\0")


def test_what_is_said_before_the_client_waits_is_one_round_trip() -> None:
    tally = TransactionLog()
    connection = CountedConnection(tally)
    connection.on_sent(GREETING + said(b"BEGIN"))
    connection.on_received(b"an early word")
    connection.on_sent(said(b"SELECT 1") + SYNC)
    connection.on_received(b"done")
    connection.on_sent(said(b"COMMIT") + SYNC)
    connection.on_received(b"done")
    (transaction,) = tally.transactions
    assert (transaction.statements, transaction.round_trips) == (["BEGIN", "SELECT 1", "COMMIT"], 2)


def test_only_a_transaction_for_watchers_is_passing() -> None:
    passing, lasting = TransactionLog(), TransactionLog()
    for tally, more in ((passing, b""), (lasting, b"SELECT seq FROM session WHERE id = 1\0")):
        connection = CountedConnection(tally)
        connection.on_sent(GREETING + message(b"Q", b"DELETE FROM delta WHERE id = 1\0"))
        connection.on_sent((message(b"Q", more) if more else b"") + message(b"Q", b"COMMIT\0"))
        connection.on_received(b"done")
    assert passing.transactions[0].passing and not lasting.transactions[0].passing


async def test_a_real_connection_works_through_the_proxy(postgres_url: str, tmp_path: Path) -> None:
    async with (
        counting_proxy(postgres_url, tmp_path) as (url, tally),
        await psycopg.AsyncConnection.connect(url) as connection,
    ):
        cursor = await connection.execute("SELECT %s::int + 1", [41])
        row = await cursor.fetchone()
        await connection.commit()
    assert row == (42,)
    assert [each.statements for each in tally.transactions] == [["BEGIN", "SELECT $1::int + 1", "COMMIT"]]
    assert tally.transactions[0].round_trips >= 3
