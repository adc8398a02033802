-- name: insert
-- Store a configuration under its digest, once.
INSERT INTO turn_config (id, body) VALUES (%(id)s, %(body)s) ON CONFLICT (id) DO NOTHING

-- name: get
-- Configurations by their digests.
SELECT id, body FROM turn_config WHERE id = ANY(%(ids)s)
