-- name: is_watched
-- Whether any connection watches a session.
SELECT NOT pg_try_advisory_xact_lock(%(watchers)s, hashtext(%(session)s)) AS watched

-- name: publish
-- Add a delta.
INSERT INTO delta (session, source, attempt, body) VALUES (%(session)s, %(source)s, %(attempt)s, %(body)s)

-- name: since
-- The deltas of a session after an id, 500 at most.
SELECT id, source, attempt, body FROM delta WHERE session = %(session)s AND id > %(after)s ORDER BY id LIMIT 500

-- name: newest
-- The id of a session's newest delta, or 0.
SELECT coalesce(max(id), 0) AS newest FROM delta WHERE session = %(session)s

-- name: delete
-- Delete the deltas of a finished message or call.
DELETE FROM delta WHERE source = %(source)s

-- name: delete_old
-- Delete the deltas from before a moment.
DELETE FROM delta WHERE at < %(before)s
