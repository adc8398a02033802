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
SELECT c.id, json_build_object('tool', tool, 'arguments', arguments, 'display', display, 'outcome', outcome,
                             'message', message, 'provider_id', provider_id, 'position', position,
                             'ordered_by', ordered_by, 'ordered_part', ordered_part, 'state', state,
                             'times', json_build_object(
    'asked', (SELECT min(asked_at) FROM ask WHERE ask.call = c.id), 'claimed', claimed_at, 'settled', c.settled_at, 'child', k.child,
    'model', coalesce((SELECT t.model FROM turn t WHERE t.session = k.child ORDER BY t.number DESC LIMIT 1), s.model),
    'cleared', (SELECT min(p.pruned_at) FROM pruning p JOIN call last ON last.id = p.call JOIN turn t ON t.id = last.turn
                WHERE p.session = c.session AND (t.number, last.step, last.position)
                      >= ((SELECT number FROM turn WHERE id = c.turn), c.step, c.position))))
FROM call c LEFT JOIN task k ON k.call = c.id LEFT JOIN session s ON s.id = k.child WHERE c.id = ANY(%(ids)s) AND salt <> ''
UNION ALL
SELECT id, body FROM note WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, json_build_object('name', name, 'request', body, 'feedback', feedback, 'answers', answers, 'author', author) FROM ask WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, reminders FROM generation WHERE id = ANY(%(ids)s)
UNION ALL
SELECT m.id, json_build_object('body', m.body, 'at', m.created_at, 'begun_at', least(g.begun_at, m.created_at),
                               'calls', (SELECT count(*) FROM call c WHERE c.turn = m.turn AND c.step = m.step))
FROM message m JOIN generation g ON g.id = m.generation WHERE m.id = ANY(%(ids)s)
UNION ALL
SELECT p.id || '/work' AS id, json_build_object('accepted_at', w.accepted_at, 'variant', p.variant, 'mentions', p.mentions, 'step', coalesce(p.step, 0),
                                               'shown', p.shown, 'without_files', p.without_files)
FROM prompt p JOIN work w ON w.id = p.id WHERE p.id = ANY(%(ids)s)
UNION ALL
SELECT t.id, json_build_object('number', number, 'agent', agent, 'model', model, 'opened_at', opened_at, 'reason', reason,
                               'ended_at', ended_at, 'step', t.step, 'error', error, 'failure', g.failure)
FROM turn t LEFT JOIN generation g ON g.turn = t.id AND g.step = t.step WHERE t.id = ANY(%(ids)s)

-- name: compactions
-- The marks of a session's summaries.
SELECT generation, turn, step, newest, media FROM compaction WHERE session = %(session)s

-- name: shortened_prompts
-- A session's prompts that models read only in part.
SELECT p.id, p.shown, p.without_files FROM work w JOIN prompt p ON p.id = w.id WHERE w.session = %(session)s AND (p.shown IS NOT NULL OR p.without_files)
