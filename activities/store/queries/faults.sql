-- name: count
-- Record a failed attempt once; how many attempts of this work have failed, a hundred at most.
INSERT INTO fault (session, work, attempts) VALUES (%(session)s, %(work)s, ARRAY[%(attempt)s])
ON CONFLICT (session, work) DO UPDATE
SET attempts = (array_remove(fault.attempts, %(attempt)s) || ARRAY[%(attempt)s])[:100]
RETURNING cardinality(attempts) AS count
