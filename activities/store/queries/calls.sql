-- name: prepare
-- Add a prepared call to the ledger.
INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, arguments, salt, recovery, display,
                  plan, digest, loop_digest, room, ordered_by, ordered_part, mentioned_by, waits_for)
VALUES (%(id)s, %(session)s, %(turn)s, %(step)s, %(position)s, %(message)s, %(provider_id)s, %(tool)s,
        %(arguments)s, %(salt)s, %(recovery)s, %(display)s, %(plan)s, %(digest)s, %(loop_digest)s, %(room)s,
        %(ordered_by)s, %(ordered_part)s, %(mentioned_by)s, %(waits_for)s)

-- name: get
-- A call, with the environment and configuration that it runs in.
SELECT c.*, s.environment, t.turn_config
FROM call c JOIN session s ON s.id = c.session JOIN turn t ON t.id = c.turn WHERE c.id = %(call)s

-- name: lock
-- Lock a call of this session.
SELECT * FROM call WHERE id = %(call)s AND session = %(session)s FOR UPDATE

-- name: claim
-- Claim a call: fence, machine, and the decision that allowed it.
UPDATE call SET state = 'claimed', fence = %(fence)s, machine = %(machine)s, decision = %(decision)s,
                claimed_at = now()
WHERE id = %(call)s

-- name: reclaim
-- Pass a claim on to a newer fence.
UPDATE call SET fence = %(fence)s WHERE id = %(call)s

-- name: drift
-- Replace a plan that no longer holds; asks of the old revision do not count for the new one.
UPDATE call SET plan = %(plan)s, digest = %(digest)s, revision = revision + 1 WHERE id = %(call)s

-- name: settle
-- Record the outcome of a call.
UPDATE call SET state = %(state)s, outcome = %(outcome)s, outcome_salt = %(salt)s, settled_at = now()
WHERE id = %(call)s

-- name: current_claim
-- The state and fence of a call.
SELECT state, fence FROM call WHERE id = %(call)s

-- name: store_todos
-- Replace a session's to-do list.
INSERT INTO todo (session, items) VALUES (%(session)s, %(items)s)
ON CONFLICT (session) DO UPDATE SET items = excluded.items

-- name: todos
-- A session's to-do list, and the turn that has written it.
SELECT items, coalesce((SELECT max(t.number) FROM call c JOIN turn t ON t.id = c.turn
                        WHERE c.session = todo.session AND c.tool = 'todowrite' AND c.state = 'done')::text, '?') AS turn
FROM todo WHERE session = %(session)s

-- name: claimed
-- All claimed calls.
SELECT id FROM call WHERE state = 'claimed'

-- name: store_file_change
-- Record what a call has changed in a file.
INSERT INTO file_change (call, session, file, additions, deletions)
VALUES (%(call)s, %(session)s, %(file)s, %(additions)s, %(deletions)s)

-- name: changed_files
-- How many files the calls of sessions have changed, and the lines that they have added and removed.
SELECT count(DISTINCT file) AS files, coalesce(sum(additions), 0)::bigint AS additions,
       coalesce(sum(deletions), 0)::bigint AS deletions
FROM file_change WHERE session = ANY(%(sessions)s)

-- name: of_step
-- The calls of a step, in the order of its answer.
SELECT * FROM call WHERE turn = %(turn)s AND step = %(step)s ORDER BY position

-- name: unsettled
-- Lock the calls of a turn that are not settled.
SELECT * FROM call WHERE turn = %(turn)s AND state IN ('prepared', 'claimed') ORDER BY step, position FOR UPDATE

-- name: recent_loops
-- The loop digests of the two calls before a step.
SELECT loop_digest FROM call WHERE turn = %(turn)s AND step < %(step)s ORDER BY step DESC, position DESC LIMIT 2

-- name: recent_results
-- The inputs of a turn's newest calls, and digests of the results of those with the input of the newest one.
SELECT input, CASE WHEN input = first_value(input) OVER (ORDER BY step DESC, position DESC)
                   THEN left(md5(replace(outcome::text, id, '')), 8) END AS result
FROM (SELECT *, split_part(loop_digest, '-', 1) AS input FROM call WHERE turn = %(turn)s
      ORDER BY step DESC, position DESC LIMIT 20) newest ORDER BY step DESC, position DESC

-- name: without_result
-- The answers of a turn before a step that failed to give its result: with the tool for it, or with text and no call.
SELECT count(*) AS answers FROM message m
WHERE m.turn = %(turn)s AND m.step < %(step)s
AND (EXISTS (SELECT 1 FROM call c WHERE c.message = m.id AND c.tool = %(tool)s)
     OR EXISTS (SELECT 1 FROM part p WHERE p.message = m.id AND p.kind = 'text')
        AND NOT EXISTS (SELECT 1 FROM call c WHERE c.message = m.id))

-- name: ordered_steps
-- How many steps of a turn before one consist of calls that a prompt has asked for.
SELECT count(DISTINCT step) AS ordered FROM call
WHERE turn = %(turn)s AND step < %(step)s AND ordered_by IS NOT NULL
