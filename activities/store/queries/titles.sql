-- name: set
-- Replace a session's title.
UPDATE session SET title = %(title)s, default_title = NULL WHERE id = %(session)s
