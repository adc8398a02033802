-- name: accept
INSERT INTO stop (id, session, turn, author) VALUES (%(id)s, %(session)s, %(turn)s, %(author)s)

-- name: find
SELECT id, session, turn FROM stop WHERE id = %(id)s
