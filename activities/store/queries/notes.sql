-- name: insert
-- Store a text that an event names by its seal.
INSERT INTO note (id, session, body, salt) VALUES (%(id)s, %(session)s, %(body)s, %(salt)s)
