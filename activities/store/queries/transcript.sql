-- name: answers
-- A page of a session's answers after a turn and step.
SELECT m.id, m.body, m.turn, m.step, m.created_at, t.number, t.opened_at
FROM turn t CROSS JOIN LATERAL (
    SELECT * FROM message
    WHERE message.turn = t.id AND message.step > CASE WHEN t.number = %(number)s THEN %(step)s ELSE 0 END
    ORDER BY message.step LIMIT %(limit)s
) m
WHERE t.session = %(session)s AND t.number >= %(number)s
ORDER BY t.number, m.step LIMIT %(limit)s

-- name: prompts
-- The prompts of a session that were taken between two turns and steps.
SELECT p.id, p.body, w.turn, p.step, p.shown, p.without_files, p.mentions, p.taken_seq, w.accepted_at, p.variant, t.number, t.agent, t.model, t.opened_at,
       ARRAY(SELECT c.ordered_part FROM call c WHERE c.ordered_by = p.id ORDER BY c.id) AS read_places,
       ARRAY(SELECT c.arguments::text FROM call c WHERE c.ordered_by = p.id ORDER BY c.id) AS read_arguments
FROM turn t JOIN work w ON w.turn = t.id JOIN prompt p ON p.id = w.id
WHERE t.session = %(session)s AND t.number BETWEEN %(number)s AND %(last_number)s
  AND (t.number, p.step) > (%(number)s, %(step)s) AND (t.number, p.step) <= (%(last_number)s, %(last_step)s)
ORDER BY p.taken_seq

-- name: parts
-- The text and reasoning parts of messages.
SELECT id, message, position, body FROM part WHERE message = ANY(%(messages)s)

-- name: calls
-- The calls of messages, with their subagents; `pruned_at`: when the model lost sight of results as old as theirs.
SELECT c.id, c.message, c.position, c.provider_id, c.tool, c.arguments, c.state, c.outcome, c.claimed_at, c.settled_at,
       (SELECT min(asked_at) FROM ask WHERE ask.call = c.id) AS asked_at, k.child, (SELECT t.model FROM turn t WHERE t.session = k.child ORDER BY t.number DESC LIMIT 1) AS child_model,
       (SELECT min(p.pruned_at) FROM pruning p JOIN call last ON last.id = p.call JOIN turn t ON t.id = last.turn
        WHERE p.session = c.session
          AND (t.number, last.step, last.position) >= ((SELECT number FROM turn WHERE id = c.turn), c.step, c.position)
       ) AS pruned_at
FROM message m JOIN call c ON c.turn = m.turn AND c.step = m.step LEFT JOIN task k ON k.call = c.id
WHERE m.id = ANY(%(messages)s)

-- name: marks
-- What bounds the messages that a model sees of a session: its newest summary, if it has one, and how many are deleted.
SELECT s.deleted_messages, c.generation, c.turn, c.step, c.newest, c.media, c.words
FROM session s LEFT JOIN LATERAL (
    SELECT * FROM compaction WHERE compaction.session = s.id ORDER BY number DESC LIMIT 1
) c ON true
WHERE s.id = %(session)s

-- name: steps_from
-- The steps of a session with answers and reminders, from a turn and a step's answer on if there is such a turn, up to another.
SELECT m.id, m.body, g.id AS generation, g.turn, g.step, m.created_at, t.number,
       CASE WHEN t.id = %(turn)s AND g.step = %(step)s THEN NULL ELSE g.reminders END AS reminders
FROM turn t CROSS JOIN LATERAL ( -- by the index, whatever is expected: a step needs the newest rows of ten thousand
    SELECT * FROM generation
    WHERE turn = t.id AND step BETWEEN CASE WHEN t.id = %(turn)s THEN %(step)s ELSE 0 END AND 2147483647 OFFSET 0
) g LEFT JOIN LATERAL (SELECT * FROM message WHERE generation = g.id OFFSET 0) m ON true
WHERE t.session = %(session)s AND t.number >= coalesce((SELECT number FROM turn WHERE id = %(turn)s), 0)
  AND (t.number, g.step) <= (%(last_number)s, %(last_step)s)

-- name: prompts_from
-- The taken prompts of a session, after a turn and step if there is such a turn.
SELECT p.id, p.body, w.turn, p.step, p.shown, p.without_files, p.mentions, p.taken_seq, w.accepted_at, t.number
FROM turn t JOIN work w ON w.turn = t.id JOIN prompt p ON p.id = w.id AND p.step > CASE WHEN t.id = %(turn)s THEN %(step)s ELSE 0 END
WHERE t.session = %(session)s AND t.number >= coalesce((SELECT number FROM turn WHERE id = %(turn)s), 0)
  AND (t.number, p.step) <= (%(last_number)s, %(last_step)s)

-- name: parts_from
-- The text and reasoning parts of these answers.
SELECT p.id, p.message, p.position, p.body
FROM turn t CROSS JOIN LATERAL (
    SELECT id, step FROM message
    WHERE turn = t.id AND step BETWEEN CASE WHEN t.id = %(turn)s THEN %(step)s ELSE 0 END AND 2147483647 OFFSET 0
) m CROSS JOIN LATERAL (SELECT * FROM part WHERE message = m.id OFFSET 0) p
WHERE t.session = %(session)s AND t.number >= coalesce((SELECT number FROM turn WHERE id = %(turn)s), 0)
  AND (t.number, m.step) <= (%(last_number)s, %(last_step)s)

-- name: calls_from
-- The calls of these answers.
SELECT c.id, c.message, c.position, c.provider_id, c.tool, c.arguments, c.state, c.outcome
FROM turn t CROSS JOIN LATERAL (
    SELECT * FROM call
    WHERE turn = t.id AND step BETWEEN CASE WHEN t.id = %(turn)s THEN %(step)s ELSE 0 END AND 2147483647 OFFSET 0
) c
WHERE t.session = %(session)s AND t.number >= coalesce((SELECT number FROM turn WHERE id = %(turn)s), 0)
  AND (t.number, c.step) <= (%(last_number)s, %(last_step)s)
