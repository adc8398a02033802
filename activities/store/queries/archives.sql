-- name: tree
WITH RECURSIVE tree AS (
    SELECT id, id AS root, 0 AS depth FROM session
    WHERE parent IS NULL AND status <> 'archived' AND greatest(updated_at, restored_at) < %(before)s
      AND (%(session)s::text IS NULL OR id = %(session)s)
    UNION ALL
    SELECT s.id, tree.root, tree.depth + 1 FROM session s JOIN tree ON s.parent = tree.id
)
SELECT tree.root, s.id AS session, s.seq, encode(s.head, 'hex') AS head, CASE
    WHEN s.host IS DISTINCT FROM %(host)s::text
      THEN coalesce('its files are on host ' || s.host, 'its files are on no host that has a name')
    WHEN greatest(s.updated_at, s.restored_at) >= %(before)s THEN 'it has changed lately'
    WHEN s.parked IS NOT NULL THEN 'it is parked'
    WHEN s.stuck IS NOT NULL THEN 'it is stuck'
    WHEN EXISTS (SELECT FROM ask WHERE ask.session = s.id AND ask.state = 'open') THEN 'it waits for an answer'
    WHEN EXISTS (SELECT FROM turn WHERE turn.session = s.id AND turn.state = 'open')
      OR EXISTS (SELECT FROM prompt WHERE prompt.session = s.id AND prompt.state = 'accepted')
      OR EXISTS (SELECT FROM retry WHERE retry.session = s.id AND retry.state = 'accepted')
      OR EXISTS (SELECT FROM task WHERE task.session = s.id AND task.settled_at IS NULL)
      OR EXISTS (SELECT FROM call WHERE call.session = s.id AND call.state IN ('prepared', 'claimed'))
      THEN 'it is at work'
    WHEN EXISTS (SELECT FROM grant_ g WHERE g.session = s.id AND g.project IS NOT NULL AND g.spread_at IS NULL)
      THEN 'a grant of it has not reached its project yet'
    END AS obstacle
FROM tree JOIN session s ON s.id = tree.id
ORDER BY tree.root, tree.depth, s.id DESC

-- name: root
WITH RECURSIVE line AS (
    SELECT id, parent FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
)
SELECT id FROM line WHERE parent IS NULL

-- name: lock
SELECT id FROM session WHERE id = ANY(%(sessions)s) ORDER BY array_position(%(sessions)s, id) FOR UPDATE

-- name: leave
UPDATE session SET status = 'archived', archive = %(archive)s, environment = '{}', rules = '[]', place = NULL
WHERE id = ANY(%(sessions)s)

-- name: forget_deltas
DELETE FROM delta WHERE session = ANY(%(sessions)s)

-- name: calls
SELECT id FROM call WHERE session = ANY(%(sessions)s)

-- name: columns
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'holdfast' AND table_name = %(table)s ORDER BY ordinal_position

-- name: explain
UPDATE ask a SET answer_seq = e.seq
FROM event e
WHERE a.session = ANY(%(sessions)s) AND a.state = 'answered' AND a.answer_seq IS NULL
  AND e.session = a.session AND e.type = 'ask.answered' AND position(convert_to(a.id, 'UTF8') IN e.canonical) > 0

-- name: returned
UPDATE session SET restored_at = now() WHERE id = ANY(%(sessions)s)

-- name: standing
SELECT id AS session, status, seq, encode(head, 'hex') AS head FROM session WHERE id = ANY(%(sessions)s) FOR UPDATE
