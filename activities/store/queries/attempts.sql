-- name: store
-- Store what an attempt asks with.
INSERT INTO attempt (generation, fence, digest, form) VALUES (%(generation)s, %(fence)s, %(digest)s, %(form)s)

-- name: remove
-- Remove an attempt that sends nothing, and its reminders: others may be due when it is tried again.
WITH unsent AS (UPDATE generation SET reminders = NULL, reminders_salt = NULL, reminders_seal = NULL WHERE id = %(generation)s)
DELETE FROM attempt WHERE generation = %(generation)s AND fence = %(fence)s

-- name: find
-- A session's newest generation by its id, or by purpose, turn (for a step: the newest) and step; those that asked first.
SELECT g.id, g.purpose, g.turn, t.number, g.step, m.body AS answer, coalesce(m.copied, false) AS copied
FROM generation g LEFT JOIN turn t ON t.id = g.turn LEFT JOIN message m ON m.generation = g.id
WHERE g.session = %(session)s AND (%(generation)s::text IS NULL OR g.id = %(generation)s)
  AND (%(purpose)s::text IS NULL OR g.purpose = %(purpose)s) AND (%(step)s::int IS NULL OR g.step = %(step)s)
  AND (%(step)s::int IS NULL OR t.number = coalesce(%(turn)s::int, (
      SELECT max(newest.number) FROM turn newest WHERE newest.session = %(session)s AND newest.step > 0)))
ORDER BY EXISTS (SELECT FROM attempt a WHERE a.generation = g.id) DESC, t.number DESC NULLS LAST, g.step DESC NULLS LAST, g.begun_at DESC LIMIT 1

-- name: of_generation
-- The attempts at a generation, in order.
SELECT digest, form, begun_at FROM attempt WHERE generation = %(generation)s ORDER BY fence

-- name: turns
-- The turns of a session, with their configurations, and the prompts whose instructions they have.
SELECT id, number, turn_config, instructed_by FROM turn WHERE session = %(session)s

-- name: unanswered
-- The steps between two others whose answers were not stored, with the reasons of their turns' ends.
SELECT t.number, g.step, t.reason
FROM turn t JOIN generation g ON g.turn = t.id LEFT JOIN message m ON m.generation = g.id
WHERE t.session = %(session)s AND m.id IS NULL AND (t.number, g.step) > (%(after_number)s, %(after_step)s)
  AND (t.number, g.step) < (%(number)s, %(step)s)
ORDER BY t.number, g.step

-- name: count_until
-- How many prompts and answers a session had up to the answer of a step.
SELECT (SELECT count(*) FROM turn t JOIN message m ON m.turn = t.id
        WHERE t.session = %(session)s AND (t.number, m.step) <= (%(number)s, %(step)s))
     + (SELECT count(*) FROM turn t JOIN work w ON w.turn = t.id JOIN prompt p ON p.id = w.id
        WHERE t.session = %(session)s AND (t.number, p.step) <= (%(number)s, %(step)s)) AS messages

-- name: failures
-- The events of a session about providers that have failed, in order.
SELECT canonical FROM event WHERE session = %(session)s AND type = 'model.retry' ORDER BY seq

-- name: failure_messages
-- Messages of providers.
SELECT id, body FROM note WHERE id = ANY(%(ids)s)
