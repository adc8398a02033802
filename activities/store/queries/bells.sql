-- name: rang_work
-- Record that the signal for a work item was delivered.
UPDATE work SET delivered_at = now() WHERE id = %(id)s AND delivered_at IS NULL

-- name: rang_ask
-- Record that the signal for an answer was delivered.
UPDATE ask SET delivered_at = now() WHERE id = %(id)s AND delivered_at IS NULL

-- name: rang_stop
-- Record that the signal for a stop was delivered.
UPDATE stop SET delivered_at = now() WHERE id = %(id)s AND delivered_at IS NULL

-- name: rang_task
-- Record that the signal for a settled task was delivered.
UPDATE task SET delivered_at = now() WHERE call = %(id)s AND delivered_at IS NULL

-- name: unheard
-- The settled tasks of a child whose callers have not been signalled.
SELECT k.call AS id, k.session FROM task k JOIN call c ON c.id = k.call
WHERE k.child = %(child)s AND k.settled_at IS NOT NULL AND k.delivered_at IS NULL AND c.state = 'claimed'
ORDER BY k.settled_at, k.call

-- name: rang_park
-- Record that the signal for a resumed session was delivered.
UPDATE suspension SET delivered_at = now() WHERE id = %(id)s AND delivered_at IS NULL

-- name: pass_on
-- Notify one of the connected signal senders, chosen at random.
SELECT pg_notify(ringer, %(bell)s) FROM (
    SELECT application_name AS ringer FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, %(ringer)s) ORDER BY random() LIMIT 1
) AS listening

-- name: delivered
-- Whether the signal for a row was delivered.
SELECT id FROM work WHERE id = %(id)s AND delivered_at IS NOT NULL
UNION ALL SELECT id FROM ask WHERE id = %(id)s AND delivered_at IS NOT NULL
UNION ALL SELECT id FROM stop WHERE id = %(id)s AND delivered_at IS NOT NULL
UNION ALL SELECT call FROM task WHERE call = %(id)s AND delivered_at IS NOT NULL
UNION ALL SELECT id FROM suspension WHERE id = %(id)s AND delivered_at IS NOT NULL

-- name: undelivered
-- Rows older than a moment whose signal is still due.
SELECT w.kind, w.id, w.session, NULL AS turn FROM work w JOIN session s ON s.id = w.session
WHERE w.delivered_at IS NULL AND w.state = 'accepted' AND s.status = 'active' AND w.accepted_at < %(before)s
UNION ALL
SELECT 'answer', a.id, a.session, NULL FROM ask a JOIN turn t ON t.id = a.turn
WHERE a.delivered_at IS NULL AND a.state = 'answered' AND t.state = 'open' AND a.settled_at < %(before)s
UNION ALL
SELECT 'stop', o.id, o.session, o.turn FROM stop o JOIN turn t ON t.id = o.turn
WHERE o.delivered_at IS NULL AND t.state = 'open' AND o.accepted_at < %(before)s
UNION ALL
SELECT 'settled', k.call, k.session, NULL FROM task k JOIN call c ON c.id = k.call
WHERE k.delivered_at IS NULL AND k.settled_at < %(before)s AND c.state = 'claimed'
UNION ALL
SELECT 'resume', k.id, k.session, NULL FROM suspension k
WHERE k.delivered_at IS NULL AND k.state = 'answered' AND k.settled_at < %(before)s

-- name: waiting
-- Sessions that have something to do and have not moved for a while, or are stuck.
WITH found AS (
    SELECT session FROM turn WHERE state = 'open'
    UNION SELECT session FROM work WHERE state = 'accepted'
    UNION SELECT id FROM session WHERE stuck IS NOT NULL
)
SELECT s.id AS session, s.stuck, (SELECT id FROM work w WHERE w.session = s.id AND w.state = 'accepted' AND kind = 'prompt'
                                  ORDER BY accepted_seq LIMIT 1) AS prompt,
       EXISTS (SELECT 1 FROM ask a WHERE a.session = s.id AND a.state = 'open')
       OR EXISTS (SELECT 1 FROM task k WHERE k.session = s.id AND k.settled_at IS NULL) AS resting,
       EXISTS (SELECT 1 FROM turn t WHERE t.session = s.id AND t.state = 'open')
       OR EXISTS (SELECT 1 FROM work w WHERE w.session = s.id AND w.state = 'accepted') AS working
FROM found JOIN session s ON s.id = found.session JOIN session_head h ON h.session = s.id
WHERE s.stuck IS NOT NULL
   OR (s.suspension IS NULL AND h.updated_at < now() - make_interval(secs => %(quiet)s)
       AND (s.status = 'active' OR EXISTS (SELECT 1 FROM turn t WHERE t.session = s.id AND t.state = 'open')))
