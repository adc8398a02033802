-- name: insert
-- Store a configuration under its digest, once; the row is locked for the turn: a deletion may be about to remove it.
INSERT INTO turn_config (id, body) VALUES (%(id)s, %(body)s) ON CONFLICT (id) DO UPDATE SET id = excluded.id WHERE false

-- name: get
-- Configurations by their digests.
SELECT id, body FROM turn_config WHERE id = ANY(%(ids)s)
