-- name: insert
-- Clear old results of tools from this turn on.
INSERT INTO pruning (turn, session, call) VALUES (%(turn)s, %(session)s, %(call)s)

-- name: newest
-- A session's newest pruning.
SELECT p.turn, p.call FROM pruning p JOIN turn t ON t.id = p.turn WHERE p.session = %(session)s ORDER BY t.number DESC LIMIT 1
