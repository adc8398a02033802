-- name: lock
SELECT status, directory, chain, seq, head FROM session WHERE id = %(session)s FOR UPDATE

-- name: own
UPDATE session SET chain = %(chain)s WHERE id = %(session)s

-- name: append
INSERT INTO event (session, seq, type, canonical, prev_hash, hash) VALUES (%(session)s, %(seq)s, %(type)s, %(canonical)s, %(prev_hash)s, %(hash)s)

-- name: advance
UPDATE session SET seq = %(seq)s, head = %(head)s, updated_at = now() WHERE id = %(session)s

-- name: notify
SELECT pg_notify(%(channel)s, %(payload)s)
