-- name: seen
-- A server that has just started has heard of nobody for a while: so long no other engine takes the database, either.
INSERT INTO engine (namespace, target, seen_at, address)
VALUES (%(namespace)s, %(target)s, now(), host(inet_client_addr()))
ON CONFLICT (one) DO UPDATE SET namespace = excluded.namespace, target = excluded.target,
                                seen_at = excluded.seen_at, address = excluded.address
WHERE engine.namespace = excluded.namespace
   OR greatest(engine.seen_at, pg_postmaster_start_time()) < now() - interval '15 s'
RETURNING namespace

-- name: holder
SELECT namespace, target, address, seen_at > now() - interval '15 s' AS working,
       extract(epoch FROM now() - seen_at)::float8 AS silent
FROM engine
