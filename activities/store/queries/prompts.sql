-- name: accept
-- Accept a prompt.
INSERT INTO prompt (id, session, accepted_seq, mode, body, salt, model, author)
VALUES (%(id)s, %(session)s, %(accepted_seq)s, %(mode)s, %(body)s, %(salt)s, %(model)s, %(author)s)

-- name: find
-- A prompt's session and state.
SELECT id, session, state FROM prompt WHERE id = %(id)s

-- name: next_waiting
-- The oldest untaken prompt or retry of a session; `call_over` if its task's call is no longer claimed.
SELECT id, model, accepted_seq, false AS retry,
       EXISTS (SELECT 1 FROM task k JOIN call c ON c.id = k.call WHERE k.prompt = prompt.id AND c.state <> 'claimed')
       AS call_over
FROM prompt WHERE session = %(session)s AND state = 'accepted'
UNION ALL
SELECT id, model, accepted_seq, true, false FROM retry WHERE session = %(session)s AND state = 'accepted'
ORDER BY accepted_seq LIMIT 1

-- name: steered
-- The untaken prompts of a session that join the running turn.
SELECT id FROM prompt WHERE session = %(session)s AND state = 'accepted' AND mode = 'steer' ORDER BY accepted_seq

-- name: untaken
-- The untaken prompts of a session.
SELECT id FROM prompt WHERE session = %(session)s AND state = 'accepted' ORDER BY accepted_seq

-- name: take
-- Take a prompt into a step of a turn.
UPDATE prompt SET state = 'taken', turn = %(turn)s, step = %(step)s, taken_seq = %(taken_seq)s WHERE id = %(id)s

-- name: withdraw
-- Withdraw an untaken prompt.
UPDATE prompt SET state = 'withdrawn' WHERE id = %(id)s
