-- name: keep
INSERT INTO note (id, session, body, salt) VALUES (%(id)s, %(session)s, %(body)s, %(salt)s)
