-- name: accept
INSERT INTO stop (id, session, turn, author, delivered_at)
VALUES (%(id)s, %(session)s, %(turn)s, %(author)s, CASE WHEN %(turn)s::text IS NULL THEN now() END)

-- name: due
SELECT t.id FROM turn t JOIN session s ON s.id = t.session
WHERE t.id = ANY(%(turns)s) AND t.state = 'open'
  AND (s.status = 'ended' OR EXISTS (SELECT FROM stop WHERE stop.turn = t.id))

-- name: find
SELECT id, session, turn FROM stop WHERE id = %(id)s
