-- name: create
-- Create a session and the head of its log; no row if it exists.
WITH created AS (
    INSERT INTO session (id, host, directory, worktree, title, default_title, agent, began_as, model, variant,
                         environment, sources, parent, rules, schedule)
    VALUES (%(id)s, %(host)s, %(directory)s, %(worktree)s, %(title)s, %(default_title)s, %(agent)s, %(agent)s,
            %(model)s, %(variant)s, %(environment)s, %(sources)s, %(parent)s, %(rules)s, %(schedule)s)
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
INSERT INTO session_head (session, head) SELECT id, %(head)s FROM created
RETURNING session

-- name: last_used
-- The session of a directory that a person has started or given work last.
SELECT s.id FROM session s
LEFT JOIN (SELECT session, max(accepted_at) AS at FROM work
           WHERE session IN (SELECT id FROM session WHERE directory = %(directory)s)
             AND NOT EXISTS (SELECT FROM schedule_record r WHERE r.prompt = work.id AND r.kind = 'started')
           GROUP BY session) w ON w.session = s.id
WHERE s.parent IS NULL AND s.status <> 'deleted' AND s.directory = %(directory)s AND s.host IS NOT DISTINCT FROM %(host)s
  AND (w.at IS NOT NULL OR s.schedule IS NULL)
ORDER BY coalesce(w.at, s.created_at) DESC, s.id LIMIT 1

-- name: end
-- End a session, and say whether a turn is open; no row if it has ended.
UPDATE session SET status = 'ended' WHERE id = %(session)s AND status <> 'ended'
RETURNING EXISTS (SELECT FROM turn WHERE turn.session = session.id AND turn.state = 'open') AS turn_open

-- name: origin
-- Where a session's files and configuration are, with the number of sessions above it.
WITH RECURSIVE line AS (
    SELECT parent, sources FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.parent, s.sources FROM session s JOIN line ON s.id = line.parent
)
SELECT host, directory, worktree, title, environment, agent, began_as, model, variant, rules, directory_identity,
       (SELECT count(*) - 1 FROM line) AS ancestors,
       (SELECT sources FROM line WHERE parent IS NULL) AS sources
FROM session WHERE id = %(session)s

-- name: configure
-- Replace the sources of a session's configuration.
UPDATE session SET sources = %(sources)s WHERE id = %(session)s

-- name: save_directory_identity
-- Record how a turn left the session's directory.
UPDATE session SET directory_identity = %(directory_identity)s WHERE id = %(session)s

-- name: switch_agent
-- Make an agent the session's current one.
UPDATE session SET agent = %(agent)s WHERE id = %(session)s AND agent <> %(agent)s

-- name: set_rules
-- Replace a subagent's own rules.
UPDATE session SET rules = %(rules)s WHERE id = %(session)s

-- name: mark_stuck
-- Record or clear why a session's workflow task keeps failing.
UPDATE session SET stuck = %(stuck)s WHERE id = %(session)s AND stuck IS DISTINCT FROM %(stuck)s

-- name: tree
-- A session and all below it, parents first.
WITH RECURSIVE tree AS (
    SELECT id, 0 AS depth FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, tree.depth + 1 FROM session s JOIN tree ON s.parent = tree.id
)
SELECT id FROM tree ORDER BY depth, id DESC

-- name: over
-- Those of these sessions that do no more, or that are below one: ended, archived or deleted.
WITH RECURSIVE line AS (
    SELECT id AS session, parent, status FROM session WHERE id = ANY(%(sessions)s)
    UNION ALL
    SELECT line.session, s.parent, s.status FROM session s JOIN line ON s.id = line.parent
)
SELECT DISTINCT session FROM line WHERE status <> 'active'

-- name: compacting
-- Since when a session's context is being summarised; no row if it is not.
SELECT g.begun_at FROM generation g JOIN turn t ON t.session = g.session AND t.state = 'open'
WHERE g.session = %(session)s AND g.purpose = 'compaction' AND NOT EXISTS (SELECT FROM message m WHERE m.generation = g.id)
  AND g.begun_at >= ALL (SELECT begun_at FROM generation s WHERE s.turn = t.id)
ORDER BY g.begun_at DESC LIMIT 1

-- name: totals
-- Sums over the answers of sessions: steps, tokens and dollars.
SELECT count(step) AS steps, coalesce(sum(cost), 0) AS dollars, count(*) FILTER (WHERE cost IS NULL) AS unpriced,
       sum(total)::bigint AS total, coalesce(sum(input), 0)::bigint AS input, coalesce(sum(output), 0)::bigint AS output,
       coalesce(sum(reasoning), 0)::bigint AS reasoning, coalesce(sum(cache_read), 0)::bigint AS cache_read,
       coalesce(sum(cache_write), 0)::bigint AS cache_write
FROM message WHERE session = ANY(%(sessions)s) AND NOT copied

-- name: ids
-- All sessions, the last changed first.
SELECT s.id FROM session s JOIN session_head h ON h.session = s.id WHERE s.status <> 'deleted' ORDER BY h.updated_at DESC

-- name: awake
-- Sessions with an open turn, and those that have moved lately.
SELECT session AS id FROM turn WHERE state = 'open'
UNION SELECT session FROM session_head WHERE moved_at > now() - make_interval(secs => %(idle)s)

-- name: unarchived
-- Where the sessions are that are neither archived nor deleted.
SELECT id, host, directory FROM session WHERE archive IS NULL AND status <> 'deleted' ORDER BY id
