-- name: keep
INSERT INTO task (call, session, child, prompt) VALUES (%(call)s, %(session)s, %(child)s, %(prompt)s)

-- name: of_call
SELECT k.call, k.child, k.prompt, k.settled_at IS NOT NULL AS settled, s.agent, s.seq, encode(s.head, 'hex') AS head,
       t.id AS turn, t.reason, t.error, t.model
FROM task k JOIN session s ON s.id = k.child JOIN prompt p ON p.id = k.prompt LEFT JOIN turn t ON t.id = p.turn
WHERE k.call = %(call)s

-- name: unsettled
SELECT k.call, k.child, k.prompt, s.agent, s.seq FROM task k JOIN session s ON s.id = k.child
WHERE k.session = %(session)s AND k.settled_at IS NULL ORDER BY k.call

-- name: heard
UPDATE task SET delivered_at = now() FROM call c
WHERE c.id = task.call AND c.turn = %(turn)s AND task.settled_at IS NOT NULL AND task.delivered_at IS NULL

-- name: settle_turn
UPDATE task SET settled_at = now() FROM prompt p
WHERE p.id = task.prompt AND p.turn = %(turn)s AND task.settled_at IS NULL

-- name: settle_prompt
UPDATE task SET settled_at = now() WHERE prompt = %(prompt)s AND settled_at IS NULL
