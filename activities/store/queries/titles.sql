-- name: set
-- Replace a session's title.
UPDATE session SET title = %(title)s, default_title = NULL WHERE id = %(session)s

-- name: facts
-- Whether a session is a subagent's, whether it has a title, and how many prompts its turns have taken.
SELECT parent IS NOT NULL AS subagent, default_title IS NULL AS titled,
       (SELECT count(*) FROM work WHERE work.session = session.id AND kind = 'prompt' AND state = 'taken') AS prompts
FROM session WHERE id = %(session)s
