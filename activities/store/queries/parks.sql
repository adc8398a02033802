-- name: park
WITH parked AS (
    INSERT INTO park (id, session, reason, was, now_is) VALUES (%(id)s, %(session)s, %(reason)s, %(was)s, %(now)s)
)
UPDATE session SET parked = %(id)s WHERE id = %(session)s

-- name: settle
WITH settled AS (
    UPDATE park SET state = %(state)s, author = %(author)s, settled_at = now() WHERE id = %(id)s
)
UPDATE session SET parked = NULL, place = CASE %(state)s WHEN 'answered' THEN NULL ELSE place END WHERE id = %(session)s

-- name: find
SELECT id, session, reason, was, now_is AS now, state FROM park WHERE id = %(id)s

-- name: open
SELECT k.session, k.id, k.reason, k.was, k.now_is AS now, s.title FROM park k JOIN session s ON s.id = k.session
WHERE k.state = 'open' AND s.status = 'active' AND (%(session)s::text IS NULL OR s.id = %(session)s)
  AND NOT EXISTS (SELECT 1 FROM session above WHERE above.id = s.parent AND above.parked IS NOT NULL)
ORDER BY k.parked_at

-- name: at_work
SELECT id FROM session WHERE parked IS NULL AND status = 'active'
AND id IN (SELECT session FROM turn WHERE state = 'open' UNION ALL SELECT session FROM prompt WHERE state = 'accepted'
           UNION ALL SELECT session FROM retry WHERE state = 'accepted')
