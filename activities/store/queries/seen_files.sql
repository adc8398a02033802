-- name: store
-- Note the version of a file that a call has shown or left; one that has replaced a part only if its version was known.
INSERT INTO seen_file AS known (session, file, call, digest)
VALUES (%(session)s, %(file)s, %(call)s, %(digest)s)
ON CONFLICT (session, file) DO UPDATE SET call = excluded.call, digest = excluded.digest
WHERE known.digest <> excluded.digest AND (%(replaced)s::text IS NULL OR known.digest = %(replaced)s)

-- name: digest
-- The version of a file that a session has seen last.
SELECT digest FROM seen_file WHERE session = %(session)s AND file = %(file)s

-- name: claim_instructions
-- Have the result of a call at work carry those of these files that no result in the context of its session carries.
INSERT INTO attached_instruction AS known (session, file, call)
SELECT c.session, wanted.file, c.id FROM call c CROSS JOIN unnest(%(files)s::text[]) AS wanted (file)
WHERE c.id = %(call)s AND c.state = 'claimed' AND c.fence = %(fence)s ORDER BY wanted.file
ON CONFLICT (session, file) DO UPDATE SET call = excluded.call
WHERE known.call = excluded.call OR NOT EXISTS (
    SELECT FROM call holder JOIN turn t ON t.id = holder.turn
    WHERE holder.id = known.call AND holder.state IN ('claimed', 'done') AND NOT EXISTS (
        SELECT FROM compaction s JOIN turn last ON last.id = s.turn
        WHERE s.session = known.session AND (last.number, s.step) >= (t.number, holder.step)
    ) AND NOT EXISTS (
        SELECT FROM pruning p JOIN call last ON last.id = p.call JOIN turn r ON r.id = last.turn
        WHERE p.session = known.session AND (r.number, last.step, last.position) >= (t.number, holder.step, holder.position)
    )
)
RETURNING file

-- name: copy_instructions
-- Have the copy of a read carry the files of instructions that the read has carried.
INSERT INTO attached_instruction (session, file, call)
SELECT %(session)s, file, %(call)s FROM unnest(%(files)s::text[]) AS file
ON CONFLICT (session, file) DO UPDATE SET call = excluded.call
