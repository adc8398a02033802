-- name: create
INSERT INTO session (id, host, directory, title, agent, model, environment, sources, parent, rules, head)
VALUES (%(id)s, %(host)s, %(directory)s, %(title)s, %(agent)s, %(model)s, %(environment)s, %(sources)s, %(parent)s, %(rules)s, %(head)s)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: overview
WITH RECURSIVE root AS (
    SELECT id, updated_at FROM session
    WHERE CASE WHEN %(id)s::text IS NULL THEN parent IS NULL ELSE id = %(id)s END
      AND (%(directory)s::text IS NULL OR (directory = %(directory)s AND host IS NOT DISTINCT FROM %(host)s))
    ORDER BY updated_at DESC, id LIMIT %(limit)s::bigint
), tree AS (
    SELECT id, id AS root, updated_at AS newest, ARRAY[]::timestamptz[] AS line FROM root
    UNION ALL
    SELECT s.id, tree.root, tree.newest, tree.line || s.created_at FROM session s JOIN tree ON s.parent = tree.id
    WHERE %(id)s::text IS NULL
)
SELECT s.id, s.parent, cardinality(tree.line) AS depth, s.host, s.directory, s.title, s.agent, s.status, s.seq, s.stuck, s.created_at, s.updated_at,
       t.id AS turn, t.number, t.step, coalesce(nullif(t.model, 'none'), s.model) AS model, t.state AS turn_state, t.reason, t.error,
       (SELECT count(*) FROM ask a WHERE a.session = s.id AND a.state = 'open') AS asks,
       (SELECT count(*) FROM prompt p WHERE p.session = s.id AND p.state = 'accepted') AS waiting,
       EXISTS (SELECT 1 FROM retry r WHERE r.session = s.id AND r.state = 'accepted') AS retried,
       s.host IS NOT NULL AND NOT EXISTS (SELECT 1 FROM host h WHERE h.name = s.host
                                          AND h.seen_at > now() - interval '15 s') AS away,
       CASE WHEN g.next_at > now() THEN json_build_object('attempt', g.failures, 'kind', g.kind, 'until', g.next_at,
            'said', (SELECT body FROM note n WHERE n.id = t.id || '/' || g.step || '/' || g.failures)) END AS pause,
       (SELECT json_build_object('id', k.id, 'reason', k.reason, 'was', k.was, 'now', k.now_is)
        FROM park k WHERE k.id = s.parked) AS parked, s.archive
FROM tree JOIN session s ON s.id = tree.id
LEFT JOIN LATERAL (SELECT * FROM turn WHERE turn.session = s.id ORDER BY number DESC LIMIT 1) t ON true
LEFT JOIN generation g ON g.turn = t.id AND g.step = t.step AND t.state = 'open'
ORDER BY tree.newest DESC, tree.root, tree.line, s.id

-- name: last
SELECT s.id FROM session s
LEFT JOIN (SELECT session, max(accepted_at) AS at FROM prompt
           WHERE session IN (SELECT id FROM session WHERE directory = %(directory)s) GROUP BY session) p ON p.session = s.id
WHERE s.parent IS NULL AND s.directory = %(directory)s AND s.host IS NOT DISTINCT FROM %(host)s
ORDER BY coalesce(p.at, s.created_at) DESC, s.id LIMIT 1

-- name: end
UPDATE session SET status = 'ended', updated_at = now() WHERE id = %(session)s AND status <> 'ended'
RETURNING id

-- name: environment
WITH RECURSIVE line AS (
    SELECT parent, sources FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.parent, s.sources FROM session s JOIN line ON s.id = line.parent
)
SELECT host, directory, title, environment, agent, model, rules, place, (SELECT count(*) - 1 FROM line) AS ancestors,
       (SELECT sources FROM line WHERE parent IS NULL) AS sources
FROM session WHERE id = %(session)s

-- name: configure
UPDATE session SET sources = %(sources)s WHERE id = %(session)s

-- name: left
UPDATE session SET place = %(place)s WHERE id = %(session)s

-- name: bind
UPDATE session SET rules = %(rules)s WHERE id = %(session)s

-- name: mark_stuck
UPDATE session SET stuck = %(stuck)s WHERE id = %(session)s AND stuck IS DISTINCT FROM %(stuck)s

-- name: tree
WITH RECURSIVE tree AS (
    SELECT id, 0 AS depth FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, tree.depth + 1 FROM session s JOIN tree ON s.parent = tree.id
)
SELECT id FROM tree ORDER BY depth, id DESC

-- name: totals
SELECT count(*) AS steps, coalesce(sum(nullif(trim('"' FROM (body->'cost')::text), 'null')::numeric), 0) AS dollars,
       count(*) FILTER (WHERE (body->'cost')::text = 'null') AS unpriced,
       sum(t.total)::bigint AS total, coalesce(sum(t.input), 0)::bigint AS input,
       coalesce(sum(t.output), 0)::bigint AS output, coalesce(sum(t.reasoning), 0)::bigint AS reasoning,
       coalesce(sum(t.cache_read), 0)::bigint AS cache_read, coalesce(sum(t.cache_write), 0)::bigint AS cache_write
FROM message CROSS JOIN LATERAL json_to_record(body->'tokens') AS
     t(total bigint, input bigint, output bigint, reasoning bigint, cache_read bigint, cache_write bigint)
WHERE session = ANY(%(sessions)s)

-- name: count
SELECT count(*) AS count FROM session
WHERE parent IS NULL
  AND (%(directory)s::text IS NULL OR (directory = %(directory)s AND host IS NOT DISTINCT FROM %(host)s))

-- name: ids
SELECT id FROM session ORDER BY updated_at DESC

-- name: unarchived
SELECT id, host, directory FROM session WHERE archive IS NULL ORDER BY id
