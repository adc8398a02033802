-- name: newest_turn
-- The newest turn of a session.
SELECT id FROM turn WHERE session = %(session)s ORDER BY number DESC LIMIT 1

-- name: any_answer
-- An answer of a session's turns.
SELECT m.id FROM turn t JOIN message m ON m.turn = t.id WHERE t.session = %(session)s LIMIT 1

-- name: request
-- Request an answer of a model.
INSERT INTO aside_request (generation, session, purpose, turn, author)
VALUES (%(generation)s, %(session)s, %(purpose)s, %(turn)s, %(author)s)

-- name: requested_for
-- The turn of a request.
SELECT turn FROM aside_request WHERE generation = %(generation)s AND session = %(session)s

-- name: title_of_turn
-- A title that a turn is to ask for.
SELECT generation FROM aside_request WHERE session = %(session)s AND turn = %(turn)s AND purpose = 'title'
ORDER BY generation LIMIT 1

-- name: withdraw_titles
-- End a session's requests of a title, or one.
DELETE FROM aside_request WHERE session = %(session)s AND purpose = 'title'
    AND generation = coalesce(%(generation)s::text, generation)

-- name: summaries
-- The summaries of a session, the newest first, each with the newest turn and the newest prompt of then.
SELECT a.generation, t.number, (
    SELECT p.id FROM turn before JOIN work w ON w.turn = before.id JOIN prompt p ON p.id = w.id
    WHERE before.session = a.session AND before.number <= t.number ORDER BY p.taken_seq DESC LIMIT 1
) AS prompt
FROM aside_request a JOIN message m ON m.generation = a.generation JOIN turn t ON t.id = a.turn
WHERE a.session = %(session)s AND a.purpose = 'summary' ORDER BY m.created_at DESC LIMIT 20

-- name: set_title
-- Replace a session's title.
UPDATE session SET title = %(title)s, default_title = NULL WHERE id = %(session)s

-- name: title_facts
-- Whether a session is a subagent's, whether it has a title, and how many prompts its turns have taken.
SELECT parent IS NOT NULL AS subagent, default_title IS NULL AS titled,
       (SELECT count(*) FROM work WHERE work.session = session.id AND kind = 'prompt' AND state = 'taken') AS prompts
FROM session WHERE id = %(session)s
