-- name: sessions
SELECT id, title FROM session WHERE starts_with(id, %(begun)s) ORDER BY updated_at DESC LIMIT 50

-- name: asks
SELECT a.id, c.tool || ', ' || s.title AS title
FROM ask a JOIN call c ON c.id = a.call JOIN session s ON s.id = a.session
WHERE a.state = 'open' AND starts_with(a.id, %(begun)s)
ORDER BY a.asked_at LIMIT 50

-- name: grants
SELECT g.id, g.body, s.title
FROM grant_ g JOIN session s ON s.id = g.session
WHERE g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > now()) AND starts_with(g.id, %(begun)s)
ORDER BY g.created_at DESC LIMIT 50
