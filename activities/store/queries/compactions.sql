-- name: insert
-- Store the session's next compaction.
INSERT INTO compaction (generation, session, number, turn, step, newest)
SELECT %(generation)s, %(session)s, coalesce(max(number), 0) + 1, %(turn)s, %(step)s, %(newest)s
FROM compaction WHERE session = %(session)s

-- name: newest
-- The session's newest compaction.
SELECT generation, turn, step, newest FROM compaction WHERE session = %(session)s ORDER BY number DESC LIMIT 1
