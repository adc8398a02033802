-- name: keep
INSERT INTO grant_ (id, session, project, host, body, author, expires_at)
VALUES (%(id)s, %(session)s, %(project)s, (SELECT host FROM session WHERE id = %(session)s),
        %(body)s, %(author)s, now() + make_interval(secs => %(seconds)s))

-- name: live
SELECT id, body FROM grant_
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
  AND (session = %(session)s OR (project = (SELECT directory FROM session WHERE id = %(session)s)
                                 AND host IS NOT DISTINCT FROM (SELECT host FROM session WHERE id = %(session)s)))
ORDER BY created_at, id

-- name: listed
SELECT id, session, project, body, author, uses, created_at, expires_at, revoked_at, revoked_by,
       coalesce(expires_at <= now(), false) AS expired
FROM grant_
WHERE %(all)s OR (revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
ORDER BY created_at, id

-- name: find
SELECT id, session, revoked_at, revoked_by FROM grant_ WHERE id = %(grant)s

-- name: revoke
UPDATE grant_ SET revoked_at = now(), revoked_by = %(author)s WHERE id = %(grant)s AND revoked_at IS NULL
RETURNING id

-- name: unspread
SELECT id FROM grant_ WHERE project IS NOT NULL AND spread_at IS NULL AND created_at < %(before)s

-- name: reaches
SELECT DISTINCT a.session FROM ask a JOIN session s ON s.id = a.session JOIN grant_ g
    ON g.project = s.directory AND g.host IS NOT DISTINCT FROM s.host
WHERE g.id = %(grant)s AND a.state = 'open'

-- name: spread
UPDATE grant_ SET spread_at = now() WHERE id = %(grant)s

-- name: used
UPDATE grant_ SET uses = uses + 1 WHERE id = %(grant)s
