-- name: store
-- Note the version of a file that a call has shown or left; one that has replaced a part only if its version was known.
INSERT INTO seen_file AS known (session, file, call, digest)
VALUES (%(session)s, %(file)s, %(call)s, %(digest)s)
ON CONFLICT (session, file) DO UPDATE SET call = excluded.call, digest = excluded.digest
WHERE known.digest <> excluded.digest AND (%(replaced)s::text IS NULL OR known.digest = %(replaced)s)

-- name: digest
-- The version of a file that a session has seen last.
SELECT digest FROM seen_file WHERE session = %(session)s AND file = %(file)s
