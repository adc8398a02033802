-- name: lock
-- Lock a session, head first; both rows as the last transaction left them. With the hash of an event that is known.
SELECT s.status, s.directory, h.epoch, h.seq, h.head, s.suspension, s.archive,
       (SELECT e.hash FROM event e WHERE e.session = h.session AND e.seq = %(known)s) AS known_hash
FROM session_head h JOIN session s ON s.id = h.session WHERE h.session = %(session)s FOR UPDATE OF h, s

-- name: read
-- The same rows without a lock.
SELECT s.status, s.directory, h.epoch, h.seq, h.head, s.suspension, s.archive
FROM session_head h JOIN session s ON s.id = h.session WHERE h.session = %(session)s

-- name: hold
-- Lock a session that must still be as it was last seen, or fail.
SELECT hold_session(%(session)s, %(head)s, %(epoch)s)

-- name: set_epoch
-- Give out an epoch: those before it begin nothing more.
UPDATE session_head SET epoch = %(epoch)s WHERE session = %(session)s

-- name: append
-- Append events, move the head, and say whether a connection follows the session, or all sessions.
-- The lock for all is not kept: it would be one for all commits.
WITH appended AS (
    INSERT INTO event (session, seq, type, canonical, prev_hash, hash)
    SELECT %(session)s, * FROM unnest(%(seqs)s::bigint[], %(types)s::text[], %(canonicals)s::bytea[],
                                      %(before)s::bytea[], %(hashes)s::bytea[])
), advanced AS (
    UPDATE session_head SET seq = %(seq)s, head = %(head)s, updated_at = now(),
                            moved_at = CASE WHEN %(moved)s THEN now() ELSE moved_at END WHERE session = %(session)s
)
SELECT NOT pg_try_advisory_xact_lock(%(followers)s, hashtext(%(session)s))
       OR CASE WHEN pg_try_advisory_lock(%(followers)s, hashtext('')) THEN NOT pg_advisory_unlock(%(followers)s, hashtext(''))
               ELSE true END AS followed
