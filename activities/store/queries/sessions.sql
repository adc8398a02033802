-- name: create
INSERT INTO session (id, directory, title, agent, model, environment, head)
VALUES (%(id)s, %(directory)s, %(title)s, %(agent)s, %(model)s, %(environment)s, %(head)s)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: overview
SELECT s.id, s.directory, s.title, s.agent, s.status, s.seq, s.stuck, s.created_at, s.updated_at,
       t.id AS turn, t.number, t.step, coalesce(t.model, s.model) AS model, t.state AS turn_state, t.reason, t.error,
       (SELECT count(*) FROM ask a WHERE a.session = s.id AND a.state = 'open') AS asks,
       (SELECT count(*) FROM prompt p WHERE p.session = s.id AND p.state = 'accepted') AS waiting
FROM session s
LEFT JOIN LATERAL (SELECT * FROM turn WHERE turn.session = s.id ORDER BY number DESC LIMIT 1) t ON true
WHERE (%(id)s::text IS NULL OR s.id = %(id)s) AND (%(directory)s::text IS NULL OR s.directory = %(directory)s)
ORDER BY s.updated_at DESC, s.id
LIMIT %(limit)s

-- name: end
UPDATE session SET status = 'ended', updated_at = now() WHERE id = %(session)s AND status <> 'ended'
RETURNING id

-- name: environment
SELECT directory, environment, agent, model FROM session WHERE id = %(session)s

-- name: mark_stuck
UPDATE session SET stuck = %(stuck)s WHERE id = %(session)s AND stuck IS DISTINCT FROM %(stuck)s

-- name: totals
SELECT body FROM message WHERE session = %(session)s
