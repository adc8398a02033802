-- name: suspend
-- Suspend a session.
WITH inserted AS (
    INSERT INTO suspension (id, session, reason, was, now_is) VALUES (%(id)s, %(session)s, %(reason)s, %(was)s, %(now)s)
)
UPDATE session SET suspension = %(id)s WHERE id = %(session)s

-- name: settle
-- Settle a suspension; after an answer the directory is accepted as it is now, unless it did not answer itself.
WITH settled AS (
    UPDATE suspension SET state = %(state)s, author = %(author)s, settled_at = now() WHERE id = %(id)s RETURNING reason
)
UPDATE session SET suspension = NULL,
                   directory_identity = CASE WHEN %(state)s = 'answered' AND settled.reason <> 'silent' THEN NULL
                                             ELSE directory_identity END
FROM settled WHERE session.id = %(session)s

-- name: find
-- The session and state of a suspension.
SELECT session, state FROM suspension WHERE id = %(id)s

-- name: open
-- The open suspensions of active sessions, without those below a suspended session.
SELECT k.session, k.id, k.reason, k.was, k.now_is AS now, s.title FROM suspension k JOIN session s ON s.id = k.session
WHERE k.state = 'open' AND s.status = 'active' AND (%(session)s::text IS NULL OR s.id = %(session)s)
  AND NOT EXISTS (SELECT 1 FROM session above WHERE above.id = s.parent AND above.suspension IS NOT NULL)
ORDER BY k.suspended_at

-- name: sessions_at_work
-- Active sessions that have something to do and are not suspended.
SELECT id FROM session WHERE suspension IS NULL AND status = 'active'
AND id IN (SELECT session FROM turn WHERE state = 'open' UNION ALL SELECT session FROM work WHERE state = 'accepted')
