-- name: find
-- What a message of a session is, whether it is deleted, and whether a turn needs it that is open or to begin: its own, a retry's, or any a summary.
WITH RECURSIVE work_on AS (
    SELECT turn, state FROM work WHERE id = %(message)s AND session = %(session)s
    UNION
    SELECT w.turn, w.state FROM work_on o JOIN retry r ON r.failed_turn = o.turn JOIN work w ON w.id = r.id
)
SELECT 'user' AS role, p.salt = '' AS deleted,
       EXISTS (SELECT FROM work_on o LEFT JOIN turn t ON t.id = o.turn WHERE o.state = 'accepted' OR t.state = 'open') AS needed
FROM work w JOIN prompt p ON p.id = w.id
WHERE w.id = %(message)s AND w.session = %(session)s
UNION ALL
SELECT 'assistant', m.deleted,
       EXISTS (SELECT FROM turn t WHERE t.state = 'open' AND CASE WHEN m.turn IS NULL THEN t.session = m.session ELSE t.id = m.turn END)
FROM message m WHERE m.id = %(message)s AND m.session = %(session)s
UNION ALL
SELECT 'imported', false, false FROM note i
WHERE i.id = %(message)s || '/imported' AND i.session = %(session)s AND NOT EXISTS (SELECT FROM work WHERE id = %(message)s)
  AND NOT EXISTS (SELECT FROM message WHERE id = %(message)s)

-- name: calls
-- The calls of an answer, in order, with their outcomes.
SELECT c.id, c.outcome FROM message m JOIN call c ON c.turn = m.turn AND c.step = m.step WHERE m.id = %(message)s ORDER BY c.position

-- name: asks
-- The questions about calls.
SELECT id, kind, body FROM ask WHERE call = ANY(%(calls)s)

-- name: erase_prompt
-- Replace what a prompt says.
UPDATE prompt SET body = %(body)s, salt = '' WHERE id = %(message)s

-- name: erase_title
-- Take the title away that is the first line of a deleted prompt.
UPDATE session SET title = default_title WHERE id = %(session)s AND default_title IS NOT NULL AND %(message)s = (
    SELECT id FROM work WHERE session = %(session)s AND kind = 'prompt' ORDER BY accepted_seq LIMIT 1)

-- name: answer
-- What is stored with an answer.
SELECT body FROM message WHERE id = %(message)s

-- name: erase_answer
-- Mark an answer as deleted.
UPDATE message SET deleted = true, body = %(body)s WHERE id = %(message)s

-- name: delete_parts
-- Delete the parts of an answer.
DELETE FROM part WHERE message = %(message)s

-- name: erase_calls
-- Erase the contents of settled calls.
UPDATE call SET arguments = '{}', salt = '', plan = NULL, loop_digest = '', outcome = %(outcome)s, outcome_salt = ''
WHERE id = ANY(%(calls)s)

-- name: erase_ask
-- Replace what was asked about a deleted call, and delete what was answered.
UPDATE ask SET body = %(body)s, feedback = NULL, feedback_salt = NULL, answers = NULL, answers_salt = NULL
WHERE id = %(ask)s

-- name: delete_imported
-- Delete the note of what a message's file had besides.
DELETE FROM note WHERE id = %(message)s || '/imported'

-- name: delete_todos
-- Delete a session's list of things to do.
DELETE FROM todo WHERE session = %(session)s

-- name: delete_file_changes
-- Delete what calls have changed in files.
DELETE FROM file_change WHERE call = ANY(%(calls)s)

-- name: delete_attached
-- Forget which files of instructions the results of calls have carried.
DELETE FROM attached_instruction WHERE call = ANY(%(calls)s)

-- name: delete_seen
-- Forget which versions of files calls have shown or left.
DELETE FROM seen_file WHERE call = ANY(%(calls)s)

-- name: delete_waits
-- Delete what calls have waited for, with the texts of pokes.
WITH deleted AS (DELETE FROM wait WHERE call = ANY(%(calls)s) RETURNING call)
DELETE FROM note USING deleted WHERE note.id = deleted.call || '/poke'

-- name: delete_deltas
-- Delete the partial contents of a message and its calls.
DELETE FROM delta WHERE source = ANY(%(sources)s)

-- name: remove_files
-- Have the host of a session remove the files of calls.
INSERT INTO file_removal (call, host) SELECT c.id, s.host FROM call c JOIN session s ON s.id = c.session
WHERE c.id = ANY(%(calls)s) ON CONFLICT (call) DO NOTHING

-- name: count
-- Count a deleted message.
UPDATE session SET deleted_messages = deleted_messages + 1 WHERE id = %(session)s
