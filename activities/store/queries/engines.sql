-- name: report_alive
-- Take or keep the database for an engine, unless another one was seen within 15 s.
-- The silence counts from the server's start at the earliest: while the server was down, no report could come.
INSERT INTO engine (namespace, target, seen_at, address)
VALUES (%(namespace)s, %(target)s, now(), host(inet_client_addr()))
ON CONFLICT (singleton) DO UPDATE SET namespace = excluded.namespace, target = excluded.target,
                                seen_at = excluded.seen_at, address = excluded.address
WHERE engine.namespace = excluded.namespace
   OR greatest(engine.seen_at, pg_postmaster_start_time()) < now() - interval '15 s'
RETURNING namespace

-- name: holder
-- The engine that has the database, and since when it is silent.
SELECT namespace, target, address, seen_at > now() - interval '15 s' AS working,
       extract(epoch FROM now() - seen_at)::float8 AS silent_seconds
FROM engine
