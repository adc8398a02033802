-- name: find
SELECT id, session, failed, model FROM retry WHERE id = %(id)s

-- name: newest_turn
SELECT t.id, t.number, t.state, t.reason, (SELECT parent FROM session s WHERE s.id = t.session) AS parent,
       CASE WHEN r.id IS NULL THEN (SELECT p.model FROM prompt p WHERE p.turn = t.id ORDER BY p.taken LIMIT 1)
            ELSE r.model END AS model,
       EXISTS (SELECT 1 FROM prompt p WHERE p.session = t.session AND p.state = 'accepted')
       OR EXISTS (SELECT 1 FROM retry w WHERE w.session = t.session AND w.state = 'accepted') AS waiting
FROM turn t LEFT JOIN retry r ON r.turn = t.id
WHERE t.session = %(session)s ORDER BY t.number DESC LIMIT 1

-- name: accept
INSERT INTO retry (id, session, failed, accepted, model, author)
VALUES (%(id)s, %(session)s, %(failed)s, %(accepted)s, %(model)s, %(author)s)

-- name: take
UPDATE retry SET state = 'taken', turn = %(turn)s WHERE id = %(id)s

-- name: withdraw
UPDATE retry SET state = 'withdrawn' WHERE session = %(session)s AND state = 'accepted'
RETURNING id
