-- name: standing
SELECT t.state, t.snapshot, t.agent, t.model, t.number, EXISTS (SELECT 1 FROM stop WHERE stop.turn = t.id) AS stopped,
       g.fence, g.failures, g.waited_ms, extract(epoch FROM g.next_at - now())::float8 AS pause, m.id AS message, m.body
FROM turn t
LEFT JOIN generation g ON g.turn = t.id AND g.step = %(step)s
LEFT JOIN message m ON m.turn = t.id AND m.step = %(step)s
WHERE t.id = %(turn)s AND t.session = %(session)s

-- name: bodies
SELECT body FROM part WHERE message = %(message)s

-- name: answered_by
SELECT 1 FROM message WHERE starts_with(body->>'model', %(begun)s) LIMIT 1

-- name: hold
SELECT hold_step(%(turn)s, %(step)s, %(fence)s)

-- name: register
INSERT INTO generation (turn, step, fence) VALUES (%(turn)s, %(step)s, %(fence)s)
ON CONFLICT (turn, step) DO UPDATE SET fence = excluded.fence, next_at = NULL

-- name: failed
UPDATE generation SET failures = failures + 1, waited_ms = waited_ms + %(waited_ms)s, kind = %(kind)s,
       next_at = now() + make_interval(secs => %(pause)s)
WHERE turn = %(turn)s AND step = %(step)s

-- name: keep_message
INSERT INTO message (id, session, turn, step, body) VALUES (%(id)s, %(session)s, %(turn)s, %(step)s, %(body)s)

-- name: keep_part
INSERT INTO part (id, message, position, body, salt)
VALUES (%(id)s, %(message)s, %(position)s, %(body)s, %(salt)s)

-- name: prompts
SELECT p.id, p.body, p.turn, p.step, p.taken, p.accepted_at, t.number
FROM prompt p JOIN turn t ON t.id = p.turn WHERE p.session = %(session)s AND p.state = 'taken' ORDER BY p.taken

-- name: messages
SELECT m.id, m.body, m.turn, m.step, m.created_at, t.number
FROM message m JOIN turn t ON t.id = m.turn WHERE m.session = %(session)s ORDER BY t.number, m.step

-- name: parts
SELECT p.id, p.message, p.position, p.body FROM part p
JOIN message m ON m.id = p.message WHERE m.session = %(session)s ORDER BY p.position
