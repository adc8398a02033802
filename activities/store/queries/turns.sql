-- name: open_turn
SELECT id, number, snapshot, agent, model, step, error FROM turn WHERE session = %(session)s AND state = 'open'

-- name: last_number
SELECT coalesce(max(number), 0) AS number FROM turn WHERE session = %(session)s

-- name: open
INSERT INTO turn (id, session, number, snapshot, agent, model, error)
VALUES (%(id)s, %(session)s, %(number)s, %(snapshot)s, %(agent)s, %(model)s, %(error)s)

-- name: state
SELECT t.state, t.snapshot, t.agent, t.model, t.number, EXISTS (SELECT 1 FROM stop WHERE stop.turn = t.id) AS stopped
FROM turn t WHERE t.id = %(turn)s AND t.session = %(session)s

-- name: over
WITH RECURSIVE line AS (
    SELECT id, 0 AS above FROM turn WHERE id = %(turn)s
    UNION ALL
    SELECT c.turn, line.above + 1 FROM line JOIN prompt p ON p.turn = line.id
    JOIN task k ON k.prompt = p.id AND k.settled_at IS NULL JOIN call c ON c.id = k.call
)
SELECT line.above, t.session, s.status = 'ended' AS session_ended, o.author, o.accepted_at
FROM line JOIN turn t ON t.id = line.id JOIN session s ON s.id = t.session
LEFT JOIN LATERAL (SELECT author, accepted_at FROM stop WHERE turn = t.id ORDER BY accepted_at LIMIT 1) o ON true
WHERE s.status = 'ended' OR o.author IS NOT NULL
ORDER BY line.above LIMIT 1

-- name: registered
UPDATE turn SET step = greatest(step, %(step)s) WHERE id = %(turn)s

-- name: close
UPDATE turn SET state = 'ended', reason = %(reason)s, error = %(error)s, ended_at = now()
WHERE id = %(turn)s AND state = 'open'
RETURNING id

-- name: cut_short
SELECT id, number, agent, model, reason, error, opened_at, ended_at
FROM turn WHERE session = %(session)s AND reason IN ('failed', 'stopped', 'ended') ORDER BY number
