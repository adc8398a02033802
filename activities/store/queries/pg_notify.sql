-- name: send
-- Notify the followers of sessions.
SELECT pg_notify(%(channel)s, session) FROM unnest(%(sessions)s::text[]) AS session

-- name: newest
-- The newest event and delta of sessions that are followed.
SELECT session, seq AS event,
    coalesce((SELECT max(id) FROM delta WHERE delta.session = head.session), 0) AS delta
FROM session_head AS head WHERE session = ANY(%(sessions)s::text[])

-- name: recent
-- The newest event of each session with some of the last seconds.
SELECT session, seq AS event, 0 AS delta FROM session_head WHERE updated_at >= now() - make_interval(secs => %(age)s)

-- name: lock
-- Take the shared locks that say that a connection follows or watches sessions; those that it got.
SELECT class, session FROM unnest(%(classes)s::int[], %(sessions)s::text[]) AS wanted (class, session)
WHERE pg_try_advisory_lock_shared(class, hashtext(session))

-- name: unlock
-- Release the locks of sessions that a connection no longer follows or watches.
SELECT pg_advisory_unlock_shared(class, hashtext(session))
FROM unnest(%(classes)s::int[], %(sessions)s::text[]) AS held (class, session)

-- name: locked
-- Whether an advisory lock is taken.
SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objid = %(key)s AND l.objsubid = 1 AND l.granted
