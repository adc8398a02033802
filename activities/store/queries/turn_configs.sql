-- name: insert
-- Store a configuration under its digest, once.
INSERT INTO turn_config (id, body) VALUES (%(id)s, %(body)s) ON CONFLICT (id) DO NOTHING

-- name: get
-- A configuration by its digest.
SELECT body FROM turn_config WHERE id = %(id)s

-- name: rules
-- The permission rules of configurations.
SELECT id, body->'rules' AS rules FROM turn_config WHERE id = ANY(%(ids)s)
