-- name: send
SELECT pg_notify(%(channel)s, session) FROM unnest(%(sessions)s::text[]) AS session

-- name: follow
SELECT session FROM unnest(%(sessions)s::text[]) AS session
WHERE pg_try_advisory_lock_shared(%(followers)s, hashtext(session))

-- name: leave
SELECT pg_advisory_unlock_shared(%(followers)s, hashtext(session)) FROM unnest(%(sessions)s::text[]) AS session
