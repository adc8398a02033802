-- name: answers
-- Sums over the answers of a period: all, and by day, session, directory, agent and model, the most expensive first.
WITH grouped AS MATERIALIZED (
    SELECT s.id AS session, s.title, s.directory, m.agent, m.model,
           to_char(m.created_at AT TIME ZONE make_interval(secs => %(offset)s), 'YYYY-MM-DD') AS day,
           count(m.step) AS steps, sum(m.cost) AS cost, count(*) FILTER (WHERE m.cost IS NULL) AS unpriced,
           sum(m.input) AS input, sum(m.output) AS output, sum(m.reasoning) AS reasoning,
           sum(m.cache_read) AS cache_read, sum(m.cache_write) AS cache_write
    FROM counted_answers(%(since)s, %(before)s, %(sessions)s, %(directory)s, %(below)s, %(worktree)s, %(host)s,
                         %(agents)s) m
    JOIN session s ON s.id = m.session
    GROUP BY s.id, m.agent, m.model, day
), summed AS (
    SELECT CASE GROUPING(day, session, directory, agent, model) WHEN 15 THEN 'day' WHEN 23 THEN 'session'
           WHEN 27 THEN 'directory' WHEN 29 THEN 'agent' WHEN 30 THEN 'model' ELSE 'all' END AS kind,
           coalesce(day, session, directory, agent, model, '') AS name, max(title) AS title,
           coalesce(sum(steps), 0)::bigint AS steps, count(DISTINCT session) AS sessions,
           coalesce(sum(cost), 0) AS dollars, coalesce(sum(unpriced), 0)::bigint AS unpriced,
           coalesce(sum(input), 0)::bigint AS input, coalesce(sum(output), 0)::bigint AS output,
           coalesce(sum(reasoning), 0)::bigint AS reasoning, coalesce(sum(cache_read), 0)::bigint AS cache_read,
           coalesce(sum(cache_write), 0)::bigint AS cache_write
    FROM grouped GROUP BY GROUPING SETS ((), (day), (session), (directory), (agent), (model))
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY CASE kind WHEN 'day' THEN name END DESC, dollars DESC,
                                 input + output + cache_read DESC, name) AS rank,
           count(*) OVER (PARTITION BY kind) AS others
    FROM summed
)
SELECT kind, name, title, steps, sessions, dollars, unpriced, input, output, reasoning, cache_read, cache_write,
       others - rank AS others
FROM ranked WHERE rank <= %(limit)s ORDER BY kind, rank

-- name: tools
-- The calls of the same answers, by tool, the most frequent first.
SELECT c.tool, count(*) AS calls, count(*) FILTER (WHERE c.state = 'done') AS done,
       count(*) FILTER (WHERE c.state = 'refused') AS refused,
       count(*) FILTER (WHERE c.state IN ('failed', 'unknown', 'cancelled')) AS failed
FROM counted_answers(%(since)s, %(before)s, %(sessions)s, %(directory)s, %(below)s, %(worktree)s, %(host)s,
                     %(agents)s) m
JOIN call c ON c.turn = m.turn AND c.step = m.step
GROUP BY c.tool ORDER BY calls DESC, c.tool LIMIT %(limit)s

-- name: uncounted
-- How many sessions are in archives or deleted, whose answers are not counted.
SELECT count(*) FILTER (WHERE archive IS NOT NULL) AS archived, count(*) FILTER (WHERE status = 'deleted') AS deleted
FROM session WHERE status IN ('archived', 'deleted')

-- name: queues
-- How much waits: for people, for workers, and for repair.
SELECT (SELECT count(*) FROM ask WHERE state = 'open') AS asks,
       (SELECT coalesce(extract(epoch FROM now() - min(asked_at)), 0)::float8
        FROM ask WHERE state = 'open') AS oldest_ask_seconds,
       (SELECT count(*) FROM turn WHERE state = 'open') AS turns,
       (SELECT count(*) FROM work WHERE state = 'accepted' AND kind = 'prompt') AS prompts,
       (SELECT count(*) FROM suspension WHERE state = 'open') AS suspended,
       (SELECT count(*) FROM session WHERE stuck IS NOT NULL) AS stuck
