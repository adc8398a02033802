-- name: watching
SELECT pg_try_advisory_lock_shared(%(watchers)s, hashtext(%(session)s)) AS watching

-- name: watched
SELECT NOT pg_try_advisory_xact_lock(%(watchers)s, hashtext(%(session)s)) AS watched

-- name: keep
INSERT INTO delta (session, source, attempt, body) VALUES (%(session)s, %(source)s, %(attempt)s, %(body)s)

-- name: since
SELECT id, source, attempt, body FROM delta WHERE session = %(session)s AND id > %(after)s ORDER BY id LIMIT 500

-- name: newest
SELECT coalesce(max(id), 0) AS newest FROM delta WHERE session = %(session)s

-- name: drop
DELETE FROM delta WHERE source = %(source)s

-- name: drop_old
DELETE FROM delta WHERE at < %(before)s
