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

-- name: decision
-- The last record that decides about a content: of it, or a revocation.
SELECT trust, seq, kind, directory, digest, author, method, at FROM trust_record
WHERE trust = %(trust)s AND (digest = %(digest)s OR kind = 'revoked') ORDER BY seq DESC LIMIT 1

-- name: accepted_before
-- What was accepted last for a directory, unless it was revoked.
SELECT content FROM trust_record r
WHERE trust = %(trust)s AND directory = %(directory)s AND kind = 'accepted'
  AND NOT EXISTS (SELECT FROM trust_record v WHERE v.trust = r.trust AND v.kind = 'revoked' AND v.seq > r.seq)
ORDER BY seq DESC LIMIT 1

-- name: any_accepted
-- A row if something that was accepted is not revoked.
SELECT seq FROM trust_record a WHERE trust = %(trust)s AND kind = 'accepted'
  AND NOT EXISTS (SELECT FROM trust_record v WHERE v.trust = a.trust AND v.kind = 'revoked' AND v.seq > a.seq)
LIMIT 1

-- name: chains
-- The ends of all records of trust.
SELECT id, seq, head FROM trust ORDER BY id

-- name: chain
-- A project's records, with their hashes.
SELECT trust, seq, kind, directory, digest, author, method, at, content, prev_hash, hash FROM trust_record
WHERE trust = %(trust)s ORDER BY seq
