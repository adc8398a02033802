-- name: insert
-- Record that a subagent works for a call.
INSERT INTO task (call, session, child, prompt) VALUES (%(call)s, %(session)s, %(child)s, %(prompt)s)

-- name: of_call
-- The task of a call: the end of the child's log, and the turn that took its prompt.
SELECT k.call, k.child, k.prompt, k.settled_at IS NOT NULL AS settled, s.agent, h.seq, encode(h.head, 'hex') AS head,
       t.id AS turn, t.reason, t.error, t.model
FROM task k JOIN session s ON s.id = k.child JOIN session_head h ON h.session = k.child
JOIN work w ON w.id = k.prompt LEFT JOIN turn t ON t.id = w.turn
WHERE k.call = %(call)s

-- name: unsettled
-- The unsettled tasks of a session.
SELECT k.call, k.child, k.prompt, s.agent, h.seq
FROM task k JOIN session s ON s.id = k.child JOIN session_head h ON h.session = k.child
WHERE k.session = %(session)s AND k.settled_at IS NULL ORDER BY k.call

-- name: settle_turn
-- Settle the task whose prompt this turn took, and write the signal for its caller.
WITH settled AS (
    UPDATE task SET settled_at = now() FROM work w
    WHERE w.id = task.prompt AND w.turn = %(turn)s AND task.settled_at IS NULL
    RETURNING task.session, task.call
)
INSERT INTO outbox (session, kind, subject) SELECT session, 'settled', call FROM settled

-- name: settle_prompt
-- Settle the task of a withdrawn prompt, and write the signal for its caller.
WITH settled AS (
    UPDATE task SET settled_at = now() WHERE prompt = %(prompt)s AND settled_at IS NULL RETURNING session, call
)
INSERT INTO outbox (session, kind, subject) SELECT session, 'settled', call FROM settled
