-- name: insert
-- Store the session's next compaction.
INSERT INTO compaction (generation, session, number, turn, step, newest, media, words)
SELECT %(generation)s, %(session)s, coalesce(max(number), 0) + 1, %(turn)s, %(step)s, %(newest)s, %(media)s, %(words)s
FROM compaction WHERE session = %(session)s

-- name: newest
-- The session's newest compaction.
SELECT generation, turn, step, newest, media, words FROM compaction WHERE session = %(session)s ORDER BY number DESC LIMIT 1

-- name: of_generation
-- A compaction by its generation.
SELECT generation, turn, step, newest, media, words FROM compaction WHERE generation = %(generation)s

-- name: answers
-- A session's summaries, each with the last step that it covers, the step that waited for it, and that step's reminders.
SELECT m.id, m.body, m.created_at AS at, least(g.begun_at, m.created_at) AS begun_at, c.media, last.number AS last_number,
       c.step AS last_step, t.number, coalesce(y.step, newest.step + 1) AS step, t.agent, t.model, waiting.reminders,
       asking.form
FROM compaction c JOIN generation g ON g.id = c.generation JOIN message m ON m.generation = g.id
JOIN turn last ON last.id = c.turn JOIN message newest ON newest.id = c.newest
LEFT JOIN compaction_try y ON y.generation = g.id JOIN turn t ON t.id = coalesce(y.turn, newest.turn)
LEFT JOIN generation waiting ON waiting.turn = t.id AND waiting.step = coalesce(y.step, newest.step + 1)
LEFT JOIN LATERAL (SELECT form FROM attempt a WHERE a.generation = g.id ORDER BY fence DESC LIMIT 1) asking ON true
WHERE c.session = %(session)s ORDER BY c.number

-- name: parts
-- The text and reasoning of a session's summaries, in order.
SELECT p.id, p.message, p.body FROM compaction c JOIN message m ON m.generation = c.generation JOIN part p ON p.message = m.id
WHERE c.session = %(session)s ORDER BY p.message, p.position

-- name: insert_try
-- Store the session's next try to shorten its context.
INSERT INTO compaction_try (generation, session, number, turn, step, model, tokens, outcome, final)
SELECT %(generation)s, %(session)s, coalesce(max(number), 0) + 1, %(turn)s, %(step)s, %(model)s, %(tokens)s, %(outcome)s,
       %(final)s
FROM compaction_try WHERE session = %(session)s

-- name: newest_try
-- The session's newest try.
SELECT generation, turn, step, model, tokens, outcome, final
FROM compaction_try WHERE session = %(session)s ORDER BY number DESC LIMIT 1

-- name: tries_of_step
-- The tries for which a step has waited.
SELECT generation, turn, step, model, tokens, outcome, final FROM compaction_try WHERE turn = %(turn)s AND step = %(step)s

-- name: find_try
-- A try by its generation, with the reason why it failed.
SELECT t.generation, t.turn, t.step, t.model, t.tokens, t.outcome, t.final, n.body AS reason
FROM compaction_try t LEFT JOIN note n ON n.id = t.generation || '/failed' WHERE t.generation = %(generation)s

-- name: paused
-- The request for a summary that has met its provider's pause in an open turn, and has not been repeated.
SELECT g.id FROM turn t JOIN generation g ON g.session = t.session AND g.turn IS NULL AND g.next_at IS NOT NULL
WHERE t.id = %(turn)s AND g.purpose = 'compaction' AND g.begun_at >= t.opened_at
  AND NOT EXISTS (SELECT FROM compaction_try y WHERE y.generation = g.id)
ORDER BY g.begun_at DESC LIMIT 1

-- name: renew_step
-- Give a step without an answer a new id, and remove its reminders.
UPDATE generation g SET id = %(id)s, reminders = NULL, reminders_salt = NULL, reminders_seal = NULL
WHERE g.turn = %(turn)s AND g.step = %(step)s AND NOT EXISTS (SELECT 1 FROM message m WHERE m.generation = g.id)

-- name: shorten_prompt
-- Have models read so many characters of a prompt, or no files of it.
UPDATE prompt SET shown = %(shown)s, without_files = %(without_files)s WHERE id = %(prompt)s
