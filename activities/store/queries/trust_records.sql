-- name: lock
-- Lock the end of a project's records, which begin with that, and read the database's time.
INSERT INTO trust (id, host, worktree, head) VALUES (%(id)s, %(host)s, %(worktree)s, %(head)s)
ON CONFLICT (id) DO UPDATE SET seq = trust.seq
RETURNING seq, head, now() AS now

-- name: add
-- Record what a person has decided, and keep the end of the chain.
WITH chain AS (UPDATE trust SET seq = %(seq)s, head = %(hash)s WHERE id = %(trust)s)
INSERT INTO trust_record (trust, seq, kind, directory, digest, content, author, method, at, prev_hash, hash)
VALUES (%(trust)s, %(seq)s, %(kind)s, %(directory)s, %(digest)s, %(content)s, %(author)s, %(method)s, %(at)s,
        %(prev_hash)s, %(hash)s)

-- name: unrevoked
-- What was decided about a project since the last revocation, in order, with that.
SELECT trust, seq, kind, directory, digest, author, method, at, content FROM trust_record r
WHERE trust = %(trust)s
  AND NOT EXISTS (SELECT FROM trust_record v WHERE v.trust = r.trust AND v.kind = 'revoked' AND v.seq > r.seq)
ORDER BY seq

-- name: last
-- The number of a project's last record.
SELECT seq FROM trust WHERE id = %(trust)s

-- name: last_turn
-- The configuration of a session's last turn that could work, and whether a person has decided about its files since.
SELECT turn_config,
       EXISTS (SELECT FROM trust_record WHERE trust = %(trust)s AND (directory = %(directory)s OR kind = 'revoked')
               AND at > opened_at)
       OR EXISTS (SELECT FROM suspension k WHERE k.session = t.session AND k.reason = 'trust' AND k.state = 'answered'
                  AND k.settled_at > opened_at) AS decided
FROM turn t WHERE session = %(session)s AND error IS NULL ORDER BY number DESC LIMIT 1

-- name: chains
-- The ends of all records of trust.
SELECT id, seq, head FROM trust ORDER BY id

-- name: chain
-- A project's records, with their hashes.
SELECT trust, seq, kind, directory, digest, author, method, at, content, prev_hash, hash FROM trust_record
WHERE trust = %(trust)s ORDER BY seq
