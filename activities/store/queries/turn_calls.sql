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
