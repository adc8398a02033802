-- name: candidates
-- The trees of sessions that have rested since a moment, parents first, with the obstacle to archiving each session.
WITH RECURSIVE tree AS (
    SELECT s.id, s.id AS root, 0 AS depth FROM session s JOIN session_head h ON h.session = s.id
    WHERE s.parent IS NULL AND s.status NOT IN ('archived', 'deleted') AND greatest(h.updated_at, s.restored_at) < %(before)s
      AND (%(session)s::text IS NULL OR s.id = %(session)s)
    UNION ALL
    SELECT s.id, tree.root, tree.depth + 1 FROM session s JOIN tree ON s.parent = tree.id
)
SELECT tree.root, s.id AS session, h.seq, encode(h.head, 'hex') AS head, CASE
    WHEN s.host IS DISTINCT FROM %(host)s::text
      THEN coalesce('its files are on host ' || s.host, 'its files are on no host that has a name')
    WHEN greatest(h.updated_at, s.restored_at) >= %(before)s THEN 'it has changed lately'
    WHEN s.suspension IS NOT NULL THEN 'it is suspended'
    WHEN s.stuck IS NOT NULL THEN 'it is stuck'
    WHEN EXISTS (SELECT FROM ask WHERE ask.session = s.id AND ask.state = 'open') THEN 'it waits for an answer'
    WHEN EXISTS (SELECT FROM turn WHERE turn.session = s.id AND turn.state = 'open')
      OR EXISTS (SELECT FROM work WHERE work.session = s.id AND work.state = 'accepted')
      OR EXISTS (SELECT FROM task WHERE task.session = s.id AND (task.settled_at IS NULL OR task.delivery = 'due'))
      OR EXISTS (SELECT FROM call WHERE call.session = s.id AND call.state IN ('prepared', 'claimed'))
      THEN 'it is at work'
    WHEN EXISTS (SELECT FROM grant_ g WHERE g.session = s.id AND g.project IS NOT NULL AND g.propagated_at IS NULL)
      THEN 'a grant of it has not reached its project yet'
    WHEN EXISTS (SELECT FROM schedule k WHERE k.session = s.id AND k.state IN ('active', 'paused'))
      THEN 'a schedule prompts it'
    END AS obstacle
FROM tree JOIN session s ON s.id = tree.id JOIN session_head h ON h.session = s.id
ORDER BY tree.root, tree.depth, s.id DESC

-- name: root
-- The session of a person at the top of this session's tree.
WITH RECURSIVE line AS (
    SELECT id, parent FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
)
SELECT id FROM line WHERE parent IS NULL

-- name: lock
-- Lock sessions in the given order, head first.
SELECT s.id FROM session_head h JOIN session s ON s.id = h.session
WHERE h.session = ANY(%(sessions)s) ORDER BY array_position(%(sessions)s, h.session) FOR UPDATE OF h, s

-- name: mark_archived
-- Mark sessions as archived and erase what their rows say beyond listings.
UPDATE session SET status = 'archived', archive = %(archive)s, environment = '{}', rules = '[]',
                   directory_identity = NULL
WHERE id = ANY(%(sessions)s)

-- name: delete_deltas
-- Delete the deltas of archived sessions.
DELETE FROM delta WHERE session = ANY(%(sessions)s)

-- name: calls
-- The calls of sessions, whose files are removed with them.
SELECT id FROM call WHERE session = ANY(%(sessions)s)

-- name: columns
-- The columns of a table, in order.
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'holdfast' AND table_name = %(table)s ORDER BY ordinal_position

-- name: mark_restored
-- Count the age of restored sessions from now.
UPDATE session SET restored_at = now() WHERE id = ANY(%(sessions)s)

-- name: lock_archived
-- Lock sessions that are to be restored; their status, and where their logs end.
SELECT h.session, s.status, h.seq, encode(h.head, 'hex') AS head FROM session_head h JOIN session s ON s.id = h.session
WHERE h.session = ANY(%(sessions)s) FOR UPDATE OF h, s

-- name: lock_turn_configs
-- Lock the configurations that are brought back, or are there already.
SELECT id FROM turn_config WHERE id IN (SELECT id FROM staged) ORDER BY id FOR KEY SHARE
