-- name: after
-- A page of a session's events after a number.
SELECT seq, canonical FROM event WHERE session = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s

-- name: hash_chain
-- A page of a session's events after a number, with their hashes.
SELECT seq, type, canonical, prev_hash, hash FROM event WHERE session = %(session)s AND seq > %(after)s
ORDER BY seq LIMIT %(limit)s

-- name: hash
-- The hash of one event.
SELECT encode(hash, 'hex') AS hash FROM event WHERE session = %(session)s AND seq = %(seq)s

-- name: head
-- The number and hash of a session's last event.
SELECT seq, head FROM session_head WHERE session = %(session)s

-- name: heads
-- The number of each session's last event.
SELECT session, seq FROM session_head

-- name: sealed_contents
-- Stored contents that events name by a seal, with their salts; those that are deleted have none.
SELECT id, body::text AS body, salt FROM prompt WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, body::text, salt FROM part WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, arguments::text, salt FROM call WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, body::text, salt FROM note WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id || '/outcome', outcome::text, outcome_salt FROM call WHERE id = ANY(%(ids)s) AND outcome_salt <> ''
UNION ALL
SELECT id || '/feedback', feedback::text, feedback_salt FROM ask WHERE id = ANY(%(ids)s) AND feedback_salt IS NOT NULL
UNION ALL
SELECT id || '/answers', answers::text, answers_salt FROM ask WHERE id = ANY(%(ids)s) AND answers_salt IS NOT NULL
UNION ALL
SELECT id || '/reminders', reminders::text, reminders_salt FROM generation
WHERE id = ANY(%(ids)s) AND reminders_salt IS NOT NULL

-- name: contents
-- Stored contents that events name by id.
SELECT id, body FROM prompt WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, body FROM part WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, json_build_object('tool', tool, 'arguments', arguments, 'display', display, 'outcome', outcome) FROM call WHERE id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, body FROM note WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, json_build_object('name', name, 'request', body, 'feedback', feedback, 'answers', answers, 'author', author) FROM ask WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, reminders FROM generation WHERE id = ANY(%(ids)s)

-- name: compactions
-- The marks of a session's summaries.
SELECT generation, turn, step, newest, media FROM compaction WHERE session = %(session)s

-- name: shortened_prompts
-- A session's prompts that models read only in part.
SELECT p.id, p.shown, p.without_files FROM work w JOIN prompt p ON p.id = w.id WHERE w.session = %(session)s AND (p.shown IS NOT NULL OR p.without_files)
