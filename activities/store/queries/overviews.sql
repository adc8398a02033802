-- name: list_recent
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
       s.default_title, s.created_at, h.seq, h.updated_at, t.id AS turn, t.number, t.step,
       coalesce(nullif(t.model, 'none'), s.model) AS model, t.state AS turn_state, t.reason, t.error,
       (SELECT count(*) FROM ask a WHERE a.session = s.id AND a.state = 'open') AS asks,
       work.prompts AS waiting, work.untaken,
       (SELECT count(*) FROM task k WHERE k.session = s.id AND k.delivery = 'due') AS background,
       (SELECT count(*) FROM task k WHERE k.session = s.id AND k.delivery = 'held' AND k.settled_at IS NOT NULL) AS held,
       s.host IS NOT NULL AND NOT EXISTS (SELECT 1 FROM host h WHERE h.name = s.host
                                          AND h.seen_at > now() - interval '15 s') AS host_offline,
       CASE WHEN now() >= g.paused_at AND now() < g.next_at
            THEN json_build_object('attempt', g.failures, 'kind', g.kind, 'until', g.next_at, 'message',
                                   (SELECT body FROM note n WHERE n.id = g.id || '/' || g.failures)) END AS pause,
       ARRAY(SELECT json_build_object('call', w.call, 'subject', w.body, 'until', w.until)
             FROM wait w JOIN call c ON c.id = w.call
             WHERE w.session = s.id AND w.ended_at IS NULL AND c.state = 'claimed' ORDER BY w.until, w.call) AS waits,
       (SELECT json_build_object('id', k.id, 'reason', k.reason, 'was', k.was, 'now', k.now_is)
        FROM suspension k WHERE k.id = s.suspension) AS suspension, s.archive, s.schedule,
       s.deleted_messages
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

-- name: count
-- How many sessions people have started.
SELECT count(*) AS count FROM session WHERE parent IS NULL AND status <> 'deleted'

-- name: search
-- The sessions of people that match, or have a subagent's that does, the last changed first; how many there are.
WITH RECURSIVE matching AS (
    SELECT s.id, s.parent FROM session s JOIN session_head h ON h.session = s.id
    LEFT JOIN LATERAL (SELECT state, reason FROM turn WHERE turn.session = s.id
                       ORDER BY number DESC LIMIT 1) t ON true
    WHERE s.status <> 'deleted' AND (%(directory)s::text IS NULL OR s.directory = %(directory)s)
      AND (%(below)s::text IS NULL OR starts_with(rtrim(s.directory, '/') || '/', %(below)s))
      AND (%(worktree)s::text IS NULL OR s.worktree = %(worktree)s)
      AND (num_nonnulls(%(directory)s::text, %(below)s::text, %(worktree)s::text) = 0
           OR s.host IS NOT DISTINCT FROM %(host)s)
      AND (%(agents)s::text[] IS NULL OR s.agent = ANY(%(agents)s))
      AND (%(title)s::text IS NULL OR strpos(lower(s.title), lower(%(title)s)) > 0)
      AND (%(since)s::timestamptz IS NULL OR h.updated_at >= %(since)s)
      AND (%(states)s::text[] IS NULL OR CASE
          WHEN s.archive IS NOT NULL THEN 'archived'
          WHEN s.stuck IS NOT NULL THEN 'stuck'
          WHEN s.suspension IS NOT NULL THEN 'suspended'
          WHEN EXISTS (SELECT FROM ask WHERE ask.session = s.id AND ask.state = 'open') THEN 'asks'
          WHEN t.state = 'open' OR EXISTS (SELECT FROM work WHERE work.session = s.id AND work.state = 'accepted')
            OR EXISTS (SELECT FROM task WHERE task.session = s.id AND task.delivery = 'due')
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
