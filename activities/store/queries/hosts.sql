-- name: report_alive
-- Take or keep a host's name for a machine, unless another machine's worker was seen within 15 s.
-- The silence counts from the server's start at the earliest: while the server was down, no report could come.
INSERT INTO host (name, seen_at, machine, address) VALUES (%(name)s, now(), %(machine)s, host(inet_client_addr()))
ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, machine = excluded.machine, address = excluded.address
WHERE host.machine IS NULL OR host.machine = excluded.machine
   OR greatest(host.seen_at, pg_postmaster_start_time()) < now() - interval '15 s'
RETURNING name

-- name: holder
-- The machine that has a host's name, and since when it is silent.
SELECT name, machine, address, seen_at > now() - interval '15 s' AS working,
       extract(epoch FROM now() - seen_at)::float8 AS silent_seconds
FROM host WHERE name = %(name)s

-- name: list_all
-- All hosts that workers or sessions name, with how many sessions have something to do there.
SELECT n.name, coalesce(h.seen_at > now() - interval '15 s', false) AS working, h.machine,
       (SELECT count(DISTINCT s.id) FROM session s
        WHERE s.host = n.name AND s.suspension IS NULL
          AND (s.id IN (SELECT session FROM turn WHERE state = 'open')
               OR (s.status = 'active' AND s.id IN (SELECT session FROM work WHERE state = 'accepted')))) AS sessions
FROM (SELECT name FROM host UNION SELECT host FROM session WHERE host IS NOT NULL) n
LEFT JOIN host h ON h.name = n.name
ORDER BY n.name
