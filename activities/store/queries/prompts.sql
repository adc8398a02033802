-- name: accept
-- Store the message of a prompt.
INSERT INTO prompt (id, mode, body, salt, agent, model, variant, refers)
VALUES (%(id)s, %(mode)s, %(body)s, %(salt)s, %(agent)s, %(model)s, %(variant)s, %(refers)s)

-- name: name_session
-- Show a session that was begun without a prompt by the first line of its first one.
UPDATE session SET title = %(title)s
WHERE id = %(session)s AND title = default_title
  AND NOT EXISTS (SELECT FROM work w WHERE w.session = session.id AND w.kind = 'prompt' AND w.id <> %(id)s)

-- name: turn_request
-- What a prompt names for its turn; `call_over` if its task's call waits no longer.
SELECT agent, model, variant, body, EXISTS (SELECT 1 FROM task k JOIN call c ON c.id = k.call
                             WHERE k.prompt = prompt.id AND k.delivery IS NULL AND c.state <> 'claimed') AS call_over
FROM prompt WHERE id = %(id)s

-- name: body
-- A prompt's message.
SELECT body FROM prompt WHERE id = %(id)s

-- name: acceptance
-- The event that accepted a prompt, if a turn of the session has taken the prompt.
SELECT e.canonical, w.turn FROM work w JOIN event e ON e.session = w.session AND e.seq = w.accepted_seq
WHERE w.id = %(id)s AND w.session = %(session)s AND w.kind = 'prompt' AND w.state = 'taken'

-- name: newest
-- The newest answer of a session, the prompt that it has accepted last, and those that wait in it.
(SELECT id FROM message WHERE session = %(session)s ORDER BY created_at DESC LIMIT 1)
UNION ALL (SELECT id FROM work WHERE session = %(session)s AND kind = 'prompt' ORDER BY accepted_seq DESC LIMIT 1)
UNION ALL SELECT id FROM work WHERE session = %(session)s AND state = 'accepted' AND kind = 'prompt'

-- name: steered
-- The untaken prompts of a session that join the running turn.
SELECT w.id FROM work w JOIN prompt p ON p.id = w.id
WHERE w.session = %(session)s AND w.state = 'accepted' AND p.mode = 'steer' ORDER BY w.accepted_seq

-- name: take
-- Record the step at which a prompt was taken.
UPDATE prompt SET step = %(step)s, taken_seq = %(taken_seq)s WHERE id = %(id)s

-- name: referring
-- The prompts that turns of a session have taken, and whose references no step has looked for.
SELECT p.id, p.body FROM prompt p
WHERE p.refers AND (SELECT w.session = %(session)s AND w.state = 'taken' FROM work w WHERE w.id = p.id)
ORDER BY p.taken_seq

-- name: resolve
-- Record that a step has looked for what a prompt refers to.
UPDATE prompt SET refers = false, mentions = %(mentions)s WHERE id = %(id)s

-- name: taken
-- The messages of a session's prompts that turns have taken, in the order of taking.
SELECT p.body FROM prompt p JOIN work w ON w.id = p.id
WHERE w.session = %(session)s AND w.state = 'taken' ORDER BY p.taken_seq

-- name: words
-- Of the prompts up to a turn's step that are neither deleted nor a task's result, the first and the newest, each with its turn's number and its step.
SELECT c.number, p.step, p.body FROM (
    SELECT w.id, t.number, o.taken_seq, row_number() OVER (ORDER BY o.taken_seq) AS place, count(*) OVER () AS count
    FROM turn t JOIN work w ON w.turn = t.id JOIN prompt o ON o.id = w.id
    WHERE t.session = %(session)s AND (t.number, o.step) <= ((SELECT number FROM turn WHERE id = %(turn)s), %(step)s)
      AND o.salt <> '' AND NOT EXISTS (SELECT FROM task WHERE task.result = o.id)
) c JOIN prompt p ON p.id = c.id
WHERE c.place = 1 OR c.place > c.count - %(newest)s ORDER BY c.place
