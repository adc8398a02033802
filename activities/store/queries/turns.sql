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

-- name: registered
UPDATE turn SET step = greatest(step, %(step)s) WHERE id = %(turn)s

-- name: close
UPDATE turn SET state = 'ended', reason = %(reason)s, error = %(error)s, ended_at = now()
WHERE id = %(turn)s AND state = 'open'
RETURNING id
