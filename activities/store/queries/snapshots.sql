-- name: keep
INSERT INTO snapshot (id, body) VALUES (%(id)s, %(body)s) ON CONFLICT (id) DO NOTHING

-- name: get
SELECT body FROM snapshot WHERE id = %(id)s

-- name: rules
SELECT id, body->'rules' AS rules FROM snapshot WHERE id = ANY(%(ids)s)
