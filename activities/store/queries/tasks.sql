-- name: insert
-- Record that a subagent works for a call.
INSERT INTO task (call, session, child, prompt, delivery)
VALUES (%(call)s, %(session)s, %(child)s, %(prompt)s, %(delivery)s)

-- name: of_call
-- The task of a call: the end of the child's log, and the turn that took its prompt.
SELECT k.call, k.child, k.prompt, k.settled_at IS NOT NULL AS settled, s.agent, h.seq, encode(h.head, 'hex') AS head,
       t.id AS turn, t.reason, t.error, t.model
FROM task k JOIN session s ON s.id = k.child JOIN session_head h ON h.session = k.child
JOIN work w ON w.id = k.prompt LEFT JOIN turn t ON t.id = w.turn
WHERE k.call = %(call)s

-- name: count_at_work
-- How many subagents work for a session.
SELECT count(*) AS tasks FROM task WHERE session = %(session)s AND settled_at IS NULL

-- name: woken_turns
-- How many of a session's newest turns have taken nothing but results of background tasks.
SELECT count(*) AS turns FROM (SELECT id FROM turn WHERE session = %(session)s ORDER BY number DESC LIMIT %(limit)s) t
WHERE NOT EXISTS (SELECT FROM work w WHERE w.turn = t.id AND NOT EXISTS (SELECT FROM task k WHERE k.result = w.id))

-- name: unsettled
-- The unsettled tasks of a session.
SELECT k.call, k.child, k.prompt, k.delivery IS NOT NULL AS background, s.agent, h.seq
FROM task k JOIN session s ON s.id = k.child JOIN session_head h ON h.session = k.child
WHERE k.session = %(session)s AND k.settled_at IS NULL ORDER BY k.call

-- name: settle_turn
-- Settle the task whose prompt this turn took, and write the signal for a caller that waits.
WITH settled AS (
    UPDATE task SET settled_at = now() FROM work w
    WHERE w.id = task.prompt AND w.turn = %(turn)s AND task.settled_at IS NULL
    RETURNING task.session, task.call, task.delivery
)
INSERT INTO outbox (session, kind, subject) SELECT session, 'settled', call FROM settled WHERE delivery IS NULL

-- name: settle_prompt
-- Settle the task of a withdrawn prompt, and write the signal for a caller that waits.
WITH settled AS (
    UPDATE task SET settled_at = now() WHERE prompt = %(prompt)s AND settled_at IS NULL RETURNING session, call, delivery
)
INSERT INTO outbox (session, kind, subject) SELECT session, 'settled', call FROM settled WHERE delivery IS NULL

-- name: ended
-- The background tasks that have ended, and whose sessions do not know it: of a subagent, of a session, or all that should know by now.
SELECT e.call, e.session, e.child, s.agent FROM ended_task e JOIN session s ON s.id = e.child
WHERE CASE WHEN %(child)s::text IS NOT NULL THEN e.child = %(child)s
           WHEN %(session)s::text IS NOT NULL THEN e.session = %(session)s
           ELSE e.settled_at NOT BETWEEN now() - interval '2 s' AND now() END
ORDER BY e.settled_at, e.call

-- name: undelivered
-- An ended background task whose result its session is to have, and the withdrawn prompt that had it.
SELECT result FROM ended_task WHERE call = %(call)s

-- name: deliver
-- Name the prompt that has the result of a background task; none in an ended session.
UPDATE task SET delivery = 'done', result = %(prompt)s WHERE call = %(call)s

-- name: in_background
-- The background tasks of a session that are at work, and whose results are to wake it, with the titles of their sessions.
SELECT k.call, k.child, s.title FROM task k JOIN session s ON s.id = k.child
WHERE k.session = %(session)s AND k.delivery = 'due' AND k.settled_at IS NULL ORDER BY k.call

-- name: hold
-- Have the results of a session's background tasks wait for its next turn.
UPDATE task SET delivery = 'held' WHERE session = %(session)s AND delivery = 'due'

-- name: hold_result
-- Have the result that a withdrawn prompt had wait for the next turn.
UPDATE task SET delivery = 'held' WHERE result = %(prompt)s
