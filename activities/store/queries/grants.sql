-- name: insert
-- Add a grant of a session, or of its project.
INSERT INTO grant_ (id, session, project, host, body, author, expires_at)
VALUES (%(id)s, %(session)s, %(project)s, (SELECT host FROM session WHERE id = %(session)s),
        %(body)s, %(author)s, now() + make_interval(secs => %(seconds)s))

-- name: live
-- The live grants that hold for a session: its own and its project's.
SELECT id, body FROM grant_
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
  AND (session = %(session)s OR (project = (SELECT directory FROM session WHERE id = %(session)s)
                                 AND host IS NOT DISTINCT FROM (SELECT host FROM session WHERE id = %(session)s)))
ORDER BY created_at, id

-- name: list_all
-- All grants, or the live ones.
SELECT id, session, project, body, author, uses, expires_at, revoked_at, revoked_by,
       coalesce(expires_at <= now(), false) AS expired
FROM grant_
WHERE %(all)s OR (revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
ORDER BY created_at, id

-- name: find
-- A grant's session.
SELECT session FROM grant_ WHERE id = %(grant)s

-- name: revoke
-- Revoke a grant; a row if it was not revoked before.
UPDATE grant_ SET revoked_at = now(), revoked_by = %(author)s WHERE id = %(grant)s AND revoked_at IS NULL
RETURNING id

-- name: unpropagated
-- Project grants from before a moment that have not answered the open asks of other sessions yet.
SELECT id FROM grant_ WHERE project IS NOT NULL AND propagated_at IS NULL AND created_at < %(before)s

-- name: waiting_sessions
-- The sessions of a grant's project that have open asks.
SELECT DISTINCT a.session FROM ask a JOIN session s ON s.id = a.session JOIN grant_ g
    ON g.project = s.directory AND g.host IS NOT DISTINCT FROM s.host
WHERE g.id = %(grant)s AND a.state = 'open'

-- name: mark_propagated
-- Record that a grant has answered its project's open asks.
UPDATE grant_ SET propagated_at = now() WHERE id = %(grant)s

-- name: count_use
-- Count a use of a grant.
UPDATE grant_ SET uses = uses + 1 WHERE id = %(grant)s
