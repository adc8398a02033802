-- name: turns
-- The turns of a session.
SELECT id, number, turn_config, agent, model, variant, instructed_by, state, step, reason, error, opened_at, ended_at
FROM turn WHERE session = %(session)s ORDER BY number

-- name: lock_turn_configs
-- Lock the configurations of a session's turns so that copies can refer to them, in the order of a deletion's locks.
SELECT id FROM turn_config WHERE id IN (SELECT turn_config FROM turn WHERE session = %(session)s) ORDER BY id
FOR KEY SHARE

-- name: prompts
-- What a session's taken prompts name besides their contents.
SELECT p.id, p.mode, p.agent, p.model, p.variant, p.refers, p.mentions, w.author FROM work w JOIN prompt p ON p.id = w.id
WHERE w.session = %(session)s AND w.state = 'taken'

-- name: calls
-- How people see the calls of messages, and which prompts' subtasks they are.
SELECT id, display, ordered_by, ordered_part FROM call WHERE message = ANY(%(messages)s)

-- name: tasks_at_work
-- The calls of a session whose subagents are at work, or have worked in the background, and the prompts with their results.
SELECT k.call, k.result FROM call c JOIN task k ON k.call = c.id
WHERE c.session = %(session)s AND (k.settled_at IS NULL OR k.delivery IS NOT NULL)

-- name: reminders
-- The reminders of a session's steps.
SELECT id, reminders FROM generation WHERE session = %(session)s AND reminders IS NOT NULL

-- name: summaries
-- The summaries of a session, the oldest first.
SELECT c.generation, c.turn, c.step, c.newest, c.media, c.words, m.id, m.body, m.created_at
FROM compaction c JOIN message m ON m.generation = c.generation WHERE c.session = %(session)s ORDER BY c.number

-- name: is_exported
-- Whether one of these is a session's summary.
SELECT EXISTS (SELECT FROM compaction c JOIN message m ON m.generation = c.generation
               WHERE c.session = %(session)s AND m.id = ANY(%(summaries)s)) AS exported

-- name: parts
-- The text and reasoning parts of a message.
SELECT position, body FROM part WHERE message = %(message)s ORDER BY position

-- name: count
-- How many messages a session has copied.
SELECT count(*) AS copied FROM event WHERE session = %(session)s AND type = 'message.copied'

-- name: insert_turn
-- Copy a turn.
INSERT INTO turn (id, session, number, turn_config, agent, model, variant, instructed_by, state, step, reason, error,
                  opened_at, ended_at, notified_at)
VALUES (%(id)s, %(session)s, %(number)s, %(turn_config)s, %(agent)s, %(model)s, %(variant)s, %(instructed_by)s, 'ended',
        %(step)s, %(reason)s, %(error)s, %(opened_at)s, %(ended_at)s, now())

-- name: insert_prompt
-- Copy a taken prompt.
WITH item AS (
    INSERT INTO work (id, session, kind, accepted_seq, author, state, turn, accepted_at)
    VALUES (%(id)s, %(session)s, 'prompt', %(seq)s, %(author)s, 'taken', %(turn)s, %(at)s)
    RETURNING id
)
INSERT INTO prompt (id, mode, body, salt, agent, model, variant, step, taken_seq, shown, without_files,
                    refers, mentions)
SELECT id, %(mode)s, %(body)s, %(salt)s, %(agent)s, %(model)s, %(variant)s, %(step)s, %(seq)s, %(shown)s, %(without_files)s,
       %(refers)s, %(mentions)s FROM item

-- name: insert_answer
-- Copy an answer; a summary has neither turn nor step.
WITH request AS (
    INSERT INTO generation (id, session, purpose, turn, step, fence, reminders, reminders_salt, reminders_seal)
    VALUES (%(generation)s, %(session)s, %(purpose)s, %(turn)s, %(step)s, '{0,0,0,0}', %(reminders)s,
            %(reminders_salt)s, %(reminders_seal)s)
    RETURNING id
)
INSERT INTO message (id, session, generation, turn, step, body, agent, model, cost, total, input, output, reasoning,
                     cache_read, cache_write, copied, created_at)
SELECT %(id)s, %(session)s, id, %(turn)s, %(step)s, %(body)s, %(agent)s, %(model)s, %(cost)s, %(total)s, %(input)s,
       %(output)s, %(reasoning)s, %(cache_read)s, %(cache_write)s, true, %(at)s FROM request

-- name: insert_call
-- Copy a settled call.
INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, ordered_by, ordered_part, arguments, salt, recovery, display,
                  loop_digest, state, outcome, outcome_salt, claimed_at, settled_at)
VALUES (%(id)s, %(session)s, %(turn)s, %(step)s, %(position)s, %(message)s, %(provider_id)s, %(tool)s, %(ordered_by)s,
        %(ordered_part)s, %(arguments)s, %(salt)s, 'once', %(display)s, '', %(state)s, %(outcome)s, %(outcome_salt)s, %(claimed_at)s, %(settled_at)s)

-- name: insert_compaction
-- Copy what a summary stands for.
INSERT INTO compaction (generation, session, number, turn, step, newest, media, words)
SELECT %(generation)s, %(session)s, coalesce(max(number), 0) + 1, %(turn)s, %(step)s, %(newest)s, %(media)s, %(words)s
FROM compaction WHERE session = %(session)s

-- name: taken_ids
-- Those of these ids that something has already.
SELECT id FROM session WHERE id = ANY(%(ids)s)
UNION SELECT id FROM work WHERE id = ANY(%(ids)s)
UNION SELECT id FROM message WHERE id = ANY(%(ids)s)
UNION SELECT id FROM part WHERE id = ANY(%(ids)s)
UNION SELECT id FROM call WHERE id = ANY(%(ids)s)
UNION SELECT split_part(id, '/', 1) FROM note WHERE id = ANY(%(notes)s)
UNION SELECT 'msg' || substr(id, 4) FROM generation WHERE id = ANY(%(generations)s)
