-- name: sessions
-- Sessions by the beginning of their id, the last changed first.
SELECT s.id, s.title FROM session s JOIN session_head h ON h.session = s.id
WHERE starts_with(s.id, %(prefix)s) AND s.status <> 'deleted' ORDER BY h.updated_at DESC LIMIT 50

-- name: asks
-- Open asks by the beginning of their name or id, the oldest first.
SELECT CASE WHEN starts_with(a.name, %(prefix)s) THEN a.name ELSE a.id END AS id, coalesce(c.tool, 'turn') || ', ' || s.title AS title
FROM ask a LEFT JOIN call c ON c.id = a.call JOIN session s ON s.id = a.session
WHERE a.state = 'open' AND (starts_with(a.name, %(prefix)s) OR starts_with(a.id, %(prefix)s))
ORDER BY a.id LIMIT 50

-- name: grants
-- Live grants by the beginning of their id, the newest first.
SELECT g.id, g.body, s.title
FROM grant_ g JOIN session s ON s.id = g.session
WHERE g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > now()) AND starts_with(g.id, %(prefix)s)
ORDER BY g.created_at DESC LIMIT 50

-- name: schedules
-- Schedules by the beginning of their id, the next due first.
SELECT id, timing || ', ' || state AS title FROM schedule
WHERE state <> 'deleted' AND starts_with(id, %(prefix)s) ORDER BY next_at NULLS LAST, id LIMIT 50
