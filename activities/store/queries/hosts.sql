-- name: seen
INSERT INTO host (name, seen_at) VALUES (%(name)s, now())
ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at

-- name: listed
SELECT n.name, coalesce(h.seen_at > now() - interval '15 s', false) AS working, h.seen_at,
       (SELECT count(DISTINCT s.id) FROM session s
        WHERE s.host = n.name AND s.parked IS NULL
          AND (s.id IN (SELECT session FROM turn WHERE state = 'open')
               OR (s.status = 'active' AND s.id IN (SELECT session FROM prompt WHERE state = 'accepted')))) AS sessions
FROM (SELECT name FROM host UNION SELECT host FROM session WHERE host IS NOT NULL) n
LEFT JOIN host h ON h.name = n.name
ORDER BY n.name
