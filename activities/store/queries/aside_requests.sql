-- name: newest_turn
-- The newest turn of a session.
SELECT id FROM turn WHERE session = %(session)s ORDER BY number DESC LIMIT 1
