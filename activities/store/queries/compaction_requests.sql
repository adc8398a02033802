-- name: any_answer
-- A row if the session has an answer of a step, or a turn that may get one.
SELECT 1 FROM message WHERE session = %(session)s AND step IS NOT NULL
UNION ALL
SELECT 1 FROM turn WHERE session = %(session)s AND state = 'open' LIMIT 1

-- name: untaken
-- A row if a compaction waits for its turn.
SELECT 1 FROM work WHERE session = %(session)s AND kind = 'compaction' AND state = 'accepted' LIMIT 1

-- name: accept
-- Store a request for a compaction.
INSERT INTO compaction_request (id) VALUES (%(id)s)

-- name: undone
-- The compactions that wait for a turn, and those that this one has taken and not carried out.
SELECT w.id, n.body AS focus, w.state = 'taken' AS taken
FROM work w JOIN compaction_request r ON r.id = w.id LEFT JOIN note n ON n.id = w.id || '/focus'
WHERE w.session = %(session)s AND w.kind = 'compaction' AND NOT r.done
  AND (w.state = 'accepted' OR (w.state = 'taken' AND w.turn = %(turn)s))
ORDER BY w.accepted_seq

-- name: by_id
-- These compactions, in the order of acceptance.
SELECT w.id, n.body AS focus, w.state = 'taken' AS taken
FROM work w LEFT JOIN note n ON n.id = w.id || '/focus' WHERE w.id = ANY(%(ids)s) ORDER BY w.accepted_seq

-- name: finish
-- Mark a turn's compactions as carried out.
UPDATE compaction_request SET done = true WHERE id IN (SELECT id FROM work WHERE turn = %(turn)s AND kind = 'compaction')

-- name: opener
-- The kind of the work that has opened a turn.
SELECT kind FROM work WHERE turn = %(turn)s ORDER BY accepted_seq LIMIT 1
