-- name: any_answer
-- An answer of a session's turns.
SELECT m.id FROM turn t JOIN message m ON m.turn = t.id WHERE t.session = %(session)s LIMIT 1

-- name: request
-- Request a summary of a model.
INSERT INTO change_summary (generation, session, turn, author)
VALUES (%(generation)s, %(session)s, %(turn)s, %(author)s)

-- name: requested_for
-- The turn of a request.
SELECT turn FROM change_summary WHERE generation = %(generation)s AND session = %(session)s

-- name: answered
-- The summaries of a session, the newest first, each with the newest turn and the newest prompt of then.
SELECT c.generation, t.number, (
    SELECT p.id FROM turn before JOIN work w ON w.turn = before.id JOIN prompt p ON p.id = w.id
    WHERE before.session = c.session AND before.number <= t.number ORDER BY p.taken_seq DESC LIMIT 1
) AS prompt
FROM change_summary c JOIN message m ON m.generation = c.generation JOIN turn t ON t.id = c.turn
WHERE c.session = %(session)s ORDER BY m.created_at DESC LIMIT 20
