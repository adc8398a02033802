-- name: add
-- Write a signal that is to be sent after the commit.
INSERT INTO outbox (session, kind, subject, turn) VALUES (%(session)s, %(kind)s, %(subject)s, %(turn)s)
ON CONFLICT (session, kind, subject) DO NOTHING

-- name: pending
-- The signals of a session, without those that are moot, which it deletes.
WITH found AS MATERIALIZED (
    SELECT o.id, o.session, o.kind, o.subject, o.turn, CASE o.kind
        WHEN 'work' THEN s.status = 'active'
                         AND EXISTS (SELECT FROM work w WHERE w.id = o.subject AND w.state = 'accepted')
        WHEN 'answer' THEN EXISTS (SELECT FROM ask a JOIN turn t ON t.id = a.turn
                                   WHERE a.id = o.subject AND a.state = 'answered' AND t.state = 'open')
        WHEN 'stop' THEN EXISTS (SELECT FROM turn t WHERE t.id = o.turn AND t.state = 'open')
        WHEN 'title' THEN s.status = 'active' AND EXISTS (SELECT FROM aside_request r WHERE r.generation = o.subject)
        WHEN 'summary' THEN s.status = 'active' AND NOT EXISTS (SELECT FROM message m WHERE m.generation = o.subject)
        WHEN 'settled' THEN EXISTS (SELECT FROM call c WHERE c.id = o.subject AND c.state = 'claimed')
        ELSE EXISTS (SELECT FROM turn t WHERE t.session = o.session AND t.state = 'open')
            OR EXISTS (SELECT FROM work w WHERE w.session = o.session AND w.state = 'accepted')
        END AS due
    FROM outbox o JOIN session s ON s.id = o.session WHERE o.session = %(session)s
), dropped AS (
    DELETE FROM outbox USING found WHERE outbox.id = found.id AND NOT found.due
)
SELECT id, session, kind, subject, turn FROM found WHERE due ORDER BY id

-- name: delete
-- Delete a signal that was acknowledged.
DELETE FROM outbox WHERE id = %(id)s

-- name: overdue
-- Sessions with signals that no one is sending just now. Those of the future are of a clock that was ahead.
SELECT session FROM outbox WHERE created_at NOT BETWEEN now() - interval '2 s' AND now()
GROUP BY session ORDER BY min(id)

-- name: callers
-- The sessions that have an unsent signal that a task of this subagent is settled.
SELECT DISTINCT k.session FROM task k
JOIN outbox o ON o.session = k.session AND o.kind = 'settled' AND o.subject = k.call
WHERE k.child = %(child)s

-- name: pass_on
-- Notify one of the connected workers, chosen at random.
SELECT pg_notify(sender, %(session)s) FROM (
    SELECT application_name AS sender FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, %(sender)s) ORDER BY random() LIMIT 1
) AS listening

-- name: any
-- Whether a session has signals.
SELECT id FROM outbox WHERE session = %(session)s LIMIT 1
