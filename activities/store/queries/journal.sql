-- name: lock
SELECT status, directory, chain, seq, head, parked, archive,
       (extract(epoch FROM now() + interval '1 minute') * 1000000)::bigint AS latest
FROM session WHERE id = %(session)s FOR UPDATE

-- name: hold
SELECT hold_session(%(session)s, %(seq)s, %(chain)s)

-- name: own
UPDATE session SET chain = %(chain)s WHERE id = %(session)s

-- name: append
WITH appended AS (
    INSERT INTO event (session, seq, type, canonical, prev_hash, hash)
    SELECT %(session)s, * FROM unnest(%(seqs)s::bigint[], %(types)s::text[], %(canonicals)s::bytea[],
                                      %(before)s::bytea[], %(hashes)s::bytea[])
), advanced AS (
    UPDATE session SET seq = %(seq)s, head = %(head)s, updated_at = now() WHERE id = %(session)s
)
SELECT NOT pg_try_advisory_xact_lock(%(followers)s, hashtext(%(session)s)) AS followed
