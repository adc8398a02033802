-- name: insert
-- Clear old results of tools from this step on.
INSERT INTO pruning (turn, step, session, call, tokens) VALUES (%(turn)s, %(step)s, %(session)s, %(call)s, %(tokens)s)
