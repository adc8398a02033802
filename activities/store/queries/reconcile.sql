-- name: waiting
-- Sessions that have something to do and have not moved for a while, or are stuck.
WITH found AS (
    SELECT session FROM turn WHERE state = 'open'
    UNION SELECT session FROM work WHERE state = 'accepted'
    UNION SELECT id FROM session WHERE stuck IS NOT NULL
)
SELECT s.id AS session, s.stuck,
       EXISTS (SELECT 1 FROM ask a WHERE a.session = s.id AND a.state = 'open')
       OR EXISTS (SELECT 1 FROM task k WHERE k.session = s.id AND k.settled_at IS NULL) AS resting,
       EXISTS (SELECT 1 FROM turn t WHERE t.session = s.id AND t.state = 'open')
       OR EXISTS (SELECT 1 FROM work w WHERE w.session = s.id AND w.state = 'accepted') AS working
FROM found JOIN session s ON s.id = found.session JOIN session_head h ON h.session = s.id
WHERE s.stuck IS NOT NULL
   OR (s.suspension IS NULL AND h.updated_at < now() - make_interval(secs => %(quiet)s)
       AND (s.status = 'active' OR EXISTS (SELECT 1 FROM turn t WHERE t.session = s.id AND t.state = 'open')))
