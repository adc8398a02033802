-- name: create
-- Create a session and the head of its log; no row if it exists.
WITH created AS (
    INSERT INTO session (id, host, directory, worktree, title, default_title, agent, model, variant, environment,
                         sources, parent, rules)
    VALUES (%(id)s, %(host)s, %(directory)s, %(worktree)s, %(title)s, %(default_title)s, %(agent)s, %(model)s,
            %(variant)s, %(environment)s, %(sources)s, %(parent)s, %(rules)s)
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
INSERT INTO session_head (session, head) SELECT id, %(head)s FROM created
RETURNING session

-- name: overview
-- One session, or the last changed ones each followed by its subagents, as listings show them.
WITH RECURSIVE root AS (
    SELECT s.id, h.updated_at FROM session s JOIN session_head h ON h.session = s.id
    WHERE CASE WHEN %(id)s::text IS NULL THEN s.parent IS NULL AND s.status <> 'deleted' ELSE s.id = %(id)s END
      AND (%(roots)s::text[] IS NULL OR s.id = ANY(%(roots)s))
    ORDER BY h.updated_at DESC, s.id LIMIT %(limit)s::bigint
), tree AS (
    SELECT id, id AS root, updated_at AS newest, ARRAY[]::timestamptz[] AS line FROM root
    UNION ALL
    SELECT s.id, tree.root, tree.newest, tree.line || s.created_at FROM session s JOIN tree ON s.parent = tree.id
    WHERE %(id)s::text IS NULL AND s.status <> 'deleted'
)
SELECT s.id, s.parent, cardinality(tree.line) AS depth, s.host, s.directory, s.title, s.agent, s.status, s.stuck,
       s.default_title, s.created_at, h.seq, h.updated_at, t.id AS turn, t.number, t.step, t.agent AS turn_agent,
       coalesce(nullif(t.model, 'none'), s.model) AS model, t.state AS turn_state, t.reason, t.error,
       (SELECT count(*) FROM ask a WHERE a.session = s.id AND a.state = 'open') AS asks,
       work.prompts AS waiting, work.untaken,
       s.host IS NOT NULL AND NOT EXISTS (SELECT 1 FROM host h WHERE h.name = s.host
                                          AND h.seen_at > now() - interval '15 s') AS host_offline,
       CASE WHEN now() >= g.paused_at AND now() < g.next_at
            THEN json_build_object('attempt', g.failures, 'kind', g.kind, 'until', g.next_at, 'message',
                                   (SELECT body FROM note n WHERE n.id = g.id || '/' || g.failures)) END AS pause,
       (SELECT json_build_object('id', k.id, 'reason', k.reason, 'was', k.was, 'now', k.now_is)
        FROM suspension k WHERE k.id = s.suspension) AS suspension, s.archive
FROM tree JOIN session s ON s.id = tree.id JOIN session_head h ON h.session = s.id
CROSS JOIN LATERAL (SELECT count(*) AS untaken, count(*) FILTER (WHERE kind = 'prompt') AS prompts
                    FROM work WHERE work.session = s.id AND work.state = 'accepted') work
LEFT JOIN LATERAL (SELECT * FROM turn WHERE turn.session = s.id ORDER BY number DESC LIMIT 1) t ON true
LEFT JOIN LATERAL ( -- that of its step, or of a compaction for which that waits
    SELECT * FROM (
        SELECT * FROM generation WHERE turn = t.id AND step = t.step
        UNION ALL
        SELECT * FROM generation WHERE session = t.session AND turn IS NULL AND next_at IS NOT NULL
            AND purpose = 'compaction' AND begun_at >= t.opened_at
    ) either
    WHERE t.state = 'open' ORDER BY next_at DESC NULLS LAST LIMIT 1
) g ON true
ORDER BY tree.newest DESC, tree.root, tree.line, s.id

-- name: last_used
-- The session of a directory that a person has started or given work last.
SELECT s.id FROM session s
LEFT JOIN (SELECT session, max(accepted_at) AS at FROM work
           WHERE session IN (SELECT id FROM session WHERE directory = %(directory)s)
           GROUP BY session) w ON w.session = s.id
WHERE s.parent IS NULL AND s.status <> 'deleted' AND s.directory = %(directory)s AND s.host IS NOT DISTINCT FROM %(host)s
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
SELECT host, directory, worktree, title, environment, agent, model, variant, rules, directory_identity,
       (SELECT count(*) - 1 FROM line) AS ancestors,
       (SELECT sources FROM line WHERE parent IS NULL) AS sources
FROM session WHERE id = %(session)s

-- name: configure
-- Replace the sources of a session's configuration.
UPDATE session SET sources = %(sources)s WHERE id = %(session)s

-- name: save_directory_identity
-- Record how a turn left the session's directory.
UPDATE session SET directory_identity = %(directory_identity)s WHERE id = %(session)s

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

-- name: count
-- How many sessions people have started.
SELECT count(*) AS count FROM session WHERE parent IS NULL AND status <> 'deleted'

-- name: search
-- The sessions of people that match, or have a subagent's that does, the last changed first; how many there are.
WITH RECURSIVE matching AS (
    SELECT s.id, s.parent FROM session s JOIN session_head h ON h.session = s.id
    LEFT JOIN LATERAL (SELECT state, reason, agent FROM turn WHERE turn.session = s.id
                       ORDER BY number DESC LIMIT 1) t ON true
    WHERE s.status <> 'deleted' AND (%(directory)s::text IS NULL OR s.directory = %(directory)s)
      AND (%(below)s::text IS NULL OR starts_with(rtrim(s.directory, '/') || '/', %(below)s))
      AND (%(worktree)s::text IS NULL OR s.worktree = %(worktree)s)
      AND (num_nonnulls(%(directory)s::text, %(below)s::text, %(worktree)s::text) = 0
           OR s.host IS NOT DISTINCT FROM %(host)s)
      AND (%(agents)s::text[] IS NULL OR coalesce(t.agent, s.agent) = ANY(%(agents)s))
      AND (%(title)s::text IS NULL OR strpos(lower(s.title), lower(%(title)s)) > 0)
      AND (%(since)s::timestamptz IS NULL OR h.updated_at >= %(since)s)
      AND (%(states)s::text[] IS NULL OR CASE
          WHEN s.archive IS NOT NULL THEN 'archived'
          WHEN s.stuck IS NOT NULL THEN 'stuck'
          WHEN s.suspension IS NOT NULL THEN 'suspended'
          WHEN EXISTS (SELECT FROM ask WHERE ask.session = s.id AND ask.state = 'open') THEN 'asks'
          WHEN t.state = 'open' OR EXISTS (SELECT FROM work WHERE work.session = s.id AND work.state = 'accepted')
            THEN 'working'
          WHEN s.status = 'ended' THEN 'ended'
          ELSE coalesce(t.reason, 'new') END = ANY(%(states)s))
), line AS (
    SELECT id, parent FROM matching
    UNION
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
)
SELECT line.id, count(*) OVER () AS total FROM line JOIN session_head h ON h.session = line.id
WHERE line.parent IS NULL AND (%(before)s::timestamptz IS NULL OR h.updated_at < %(before)s)
ORDER BY h.updated_at DESC, line.id LIMIT %(limit)s::bigint

-- name: ids
-- All sessions, the last changed first.
SELECT s.id FROM session s JOIN session_head h ON h.session = s.id WHERE s.status <> 'deleted' ORDER BY h.updated_at DESC

-- name: unarchived
-- Where the sessions are that are neither archived nor deleted.
SELECT id, host, directory FROM session WHERE archive IS NULL AND status <> 'deleted' ORDER BY id
