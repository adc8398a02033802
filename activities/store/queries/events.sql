-- name: after
SELECT seq, canonical FROM event WHERE session = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s

-- name: whole
SELECT seq, type, canonical, prev_hash, hash FROM event WHERE session = %(session)s AND seq > %(after)s
ORDER BY seq LIMIT %(limit)s

-- name: hash
SELECT encode(hash, 'hex') AS hash FROM event WHERE session = %(session)s AND seq = %(seq)s

-- name: head
SELECT seq, head FROM session WHERE id = %(session)s

-- name: contents
SELECT p.id, p.body::text AS body, p.salt FROM prompt p WHERE p.session = %(session)s
UNION ALL
SELECT p.id, p.body::text, p.salt FROM part p JOIN message m ON m.id = p.message WHERE m.session = %(session)s
UNION ALL
SELECT c.id, c.arguments::text, c.salt FROM call c WHERE c.session = %(session)s
UNION ALL
SELECT c.id || '/outcome', c.outcome::text, c.outcome_salt FROM call c
WHERE c.session = %(session)s AND c.outcome IS NOT NULL
UNION ALL
SELECT a.id || '/feedback', a.feedback::text, a.feedback_salt FROM ask a
WHERE a.session = %(session)s AND a.feedback_salt IS NOT NULL
UNION ALL
SELECT n.id, n.body::text, n.salt FROM note n WHERE n.session = %(session)s

-- name: named
SELECT id, body FROM prompt WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, body FROM part WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, json_build_object('tool', tool, 'arguments', arguments, 'outcome', outcome) FROM call WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, body FROM note WHERE id = ANY(%(ids)s)
UNION ALL
SELECT id, json_build_object('request', body, 'feedback', feedback, 'author', author) FROM ask WHERE id = ANY(%(ids)s)
