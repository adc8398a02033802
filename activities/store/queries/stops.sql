-- name: accept
-- Accept a stop.
INSERT INTO stop (id, session, turn, author) VALUES (%(id)s, %(session)s, %(turn)s, %(author)s)

-- name: turns_to_stop
-- Which of these turns have to stop: a stop names them, or their session has ended.
SELECT t.id FROM turn t JOIN session s ON s.id = t.session
WHERE t.id = ANY(%(turns)s) AND t.state = 'open'
  AND (s.status = 'ended' OR EXISTS (SELECT FROM stop WHERE stop.turn = t.id))

-- name: find
-- The turn of a stop.
SELECT turn FROM stop WHERE id = %(id)s
