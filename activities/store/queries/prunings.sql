-- name: insert
-- Clear old results of tools from this turn on.
INSERT INTO pruning (turn, session, call, tokens) VALUES (%(turn)s, %(session)s, %(call)s, %(tokens)s)
