-- name: set
-- Replace a session's title.
UPDATE session SET title = %(title)s, default_title = NULL WHERE id = %(session)s

-- name: facts
-- Whether a session is a subagent's, whether it has a title, and how many prompts its turns have taken.
SELECT parent IS NOT NULL AS subagent, default_title IS NULL AS titled,
       (SELECT count(*) FROM work WHERE work.session = session.id AND kind = 'prompt' AND state = 'taken') AS prompts
FROM session WHERE id = %(session)s

-- name: request
-- Request a title of a model.
INSERT INTO title_request (generation, session, turn, author)
VALUES (%(generation)s, %(session)s, %(turn)s, %(author)s)

-- name: requested_for
-- The turn of a request that no title has ended.
SELECT turn FROM title_request WHERE generation = %(generation)s AND session = %(session)s

-- name: of_turn
-- The requests of a turn that no title has ended.
SELECT generation FROM title_request WHERE session = %(session)s AND turn = %(turn)s ORDER BY generation LIMIT 1

-- name: withdraw
-- End a request.
DELETE FROM title_request WHERE generation = %(generation)s

-- name: withdraw_all
-- End all requests of a session.
DELETE FROM title_request WHERE session = %(session)s
