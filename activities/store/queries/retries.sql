-- name: find
-- A retry by its id.
SELECT id, session, failed_turn, model FROM retry WHERE id = %(id)s

-- name: newest_turn
-- The newest turn of a session: the model it was asked for, and whether newer work waits behind it.
SELECT t.id, t.number, t.state, t.reason, (SELECT parent FROM session s WHERE s.id = t.session) AS parent,
       CASE WHEN r.id IS NULL THEN (SELECT p.model FROM prompt p WHERE p.turn = t.id ORDER BY p.taken_seq LIMIT 1)
            ELSE r.model END AS model,
       EXISTS (SELECT 1 FROM prompt p WHERE p.session = t.session AND p.state = 'accepted')
       OR EXISTS (SELECT 1 FROM retry w WHERE w.session = t.session AND w.state = 'accepted') AS waiting
FROM turn t LEFT JOIN retry r ON r.turn = t.id
WHERE t.session = %(session)s ORDER BY t.number DESC LIMIT 1

-- name: accept
-- Accept a retry of a failed turn.
INSERT INTO retry (id, session, failed_turn, accepted_seq, model, author)
VALUES (%(id)s, %(session)s, %(failed_turn)s, %(accepted_seq)s, %(model)s, %(author)s)

-- name: take
-- Take a retry into its turn.
UPDATE retry SET state = 'taken', turn = %(turn)s WHERE id = %(id)s

-- name: withdraw
-- Withdraw the untaken retry of a session.
UPDATE retry SET state = 'withdrawn' WHERE session = %(session)s AND state = 'accepted'
RETURNING id
