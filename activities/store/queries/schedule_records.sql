-- name: add
-- Record what was done with a schedule, and keep the end of its chain.
WITH chain AS (UPDATE schedule SET seq = %(seq)s, head = %(hash)s WHERE id = %(schedule)s)
INSERT INTO schedule_record (schedule, seq, kind, author, nominal, session, prompt, note, salt, seal, at, prev_hash, hash)
VALUES (%(schedule)s, %(seq)s, %(kind)s, %(author)s, %(nominal)s, %(session)s, %(prompt)s, %(note)s, %(salt)s, %(seal)s,
        %(at)s, %(prev_hash)s, %(hash)s)

-- name: newest
-- The last records of a schedule, the newest first.
SELECT schedule, seq, kind, author, nominal, session, prompt, note, seal, at FROM schedule_record
WHERE schedule = %(schedule)s ORDER BY seq DESC LIMIT %(limit)s

-- name: lock_chain
-- Keep others from adding to a schedule's records, and read the end of its chain and what was made.
SELECT state, seq, head, author, host, session, timing, recurrence::text AS recurrence, zone, overlap, missed,
       body::text AS body
FROM schedule WHERE id = %(id)s FOR SHARE

-- name: chain
-- A page of a schedule's records after a number, with their hashes.
SELECT schedule, seq, kind, author, nominal, session, prompt, note, seal, at, salt, prev_hash, hash FROM schedule_record
WHERE schedule = %(schedule)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
