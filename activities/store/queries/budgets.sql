-- name: of_session
-- The budgets that count what a session uses.
SELECT b.*, coalesce(b.own_limits, k.day_limits[array_position(k.ids, b.id)], '{}') AS as_set
FROM counting_budgets(%(session)s) k JOIN budget_now b ON b.id = ANY(k.ids)
ORDER BY array_position(k.ids, b.id)

-- name: limits_of_session
-- The limits of the budgets that count what a session uses.
SELECT coalesce(b.limits, k.day_limits[array_position(k.ids, b.id)], '{}') AS limits
FROM counting_budgets(%(session)s) k JOIN budget b ON b.id = ANY(k.ids)

-- name: lock
-- Lock the budgets that count what a session uses, in their order; as they are now.
SELECT b.*, coalesce(b.own_limits, k.day_limits[array_position(k.ids, b.id)], '{}') AS as_set
FROM counting_budgets(%(session)s) k JOIN budget_now b ON b.id = ANY(k.ids)
ORDER BY array_position(k.ids, b.id) FOR UPDATE OF b

-- name: of_day
-- The budgets of a host's days, once for each of the limits that turns have today.
SELECT DISTINCT ON (b.scope, b.worktree, t.limits::text) b.*, t.limits AS as_set
FROM budget_now b JOIN (
    SELECT 'day' AS scope, session, state, opened_at, day_limits AS limits FROM turn WHERE day_limits IS NOT NULL
    UNION ALL
    SELECT 'project', session, state, opened_at, project_limits FROM turn WHERE project_limits IS NOT NULL
) t ON t.scope = b.scope AND (t.state = 'open' OR t.opened_at >= date_trunc('day', now(), 'UTC'))
JOIN session s ON s.id = t.session
WHERE b.host IS NOT DISTINCT FROM %(host)s AND s.host IS NOT DISTINCT FROM b.host
  AND (b.worktree IS NULL OR coalesce(s.worktree, s.directory) = b.worktree)
ORDER BY b.scope, b.worktree, t.limits::text

-- name: renew
-- Begin another day.
UPDATE budget SET day = (now() AT TIME ZONE 'UTC')::date, raised = '[]', warned = '[]', cost = 0, tokens = 0,
                  steps = 0, estimated = 0, warned_at = NULL, notified_at = NULL
WHERE id = %(budget)s AND day < (now() AT TIME ZONE 'UTC')::date

-- name: set
-- Give a session's tree the limits of a person, and count what it has used before.
WITH used AS (SELECT * FROM used_by_tree(%(session)s))
INSERT INTO budget (id, scope, session, limits, by_person, on_limit, cost, tokens, steps)
VALUES (%(session)s, 'session', %(session)s, %(limits)s, true, %(on_limit)s,
        (SELECT cost FROM used), (SELECT tokens FROM used), (SELECT steps FROM used))
ON CONFLICT (id) DO UPDATE SET limits = excluded.limits, by_person = true, on_limit = excluded.on_limit, raised = '[]',
    warned = '[]', warned_at = NULL, notified_at = NULL, started_at = now()

-- name: set_rule
-- Say what happens at the limits that a session's tree reaches.
WITH used AS (SELECT * FROM used_by_tree(%(session)s))
INSERT INTO budget (id, scope, session, limits, on_limit, cost, tokens, steps)
VALUES (%(session)s, 'session', %(session)s, '{}', %(on_limit)s,
        (SELECT cost FROM used), (SELECT tokens FROM used), (SELECT steps FROM used))
ON CONFLICT (id) DO UPDATE SET on_limit = excluded.on_limit

-- name: open_turn
-- Give a turn its limits.
INSERT INTO budget (id, scope, session, limits, by_person)
VALUES (%(turn)s, 'turn', %(session)s, %(limits)s, %(by_person)s)

-- name: limits_of_turn
-- The limits that a person has given a turn, and what was added.
SELECT limits, raised FROM budget WHERE id = %(turn)s AND by_person

-- name: day_limits_before
-- What the configuration of the turn before has allowed on a day.
SELECT project_limits AS project, day_limits AS day FROM turn WHERE session = %(session)s AND id <> %(turn)s
ORDER BY number DESC LIMIT 1

-- name: limit_days
-- Write down what a turn's configuration allows on a day.
UPDATE turn SET project_limits = %(project)s, day_limits = %(day)s WHERE id = %(turn)s

-- name: keep_day_limits
-- Give a turn what the configuration of the turn before has allowed on a day.
UPDATE turn SET project_limits = before.project_limits, day_limits = before.day_limits
FROM (SELECT project_limits, day_limits FROM turn WHERE session = %(session)s AND id <> %(turn)s
      ORDER BY number DESC LIMIT 1) before
WHERE turn.id = %(turn)s

-- name: configure
-- Give a session's tree the limits of a configuration that has others than before.
WITH used AS (SELECT * FROM used_by_tree(%(session)s))
INSERT INTO budget (id, scope, session, limits, configured, cost, tokens, steps)
VALUES (%(session)s, 'session', %(session)s, %(limits)s, %(limits)s,
        (SELECT cost FROM used), (SELECT tokens FROM used), (SELECT steps FROM used))
ON CONFLICT (id) DO UPDATE SET limits = excluded.limits, configured = excluded.configured, raised = '[]',
    warned = '[]', warned_at = NULL, notified_at = NULL
WHERE NOT budget.by_person

-- name: count_day
-- Begin to count what is used on a day, on a session's host or in its project there, and what was before.
INSERT INTO budget (id, scope, host, worktree, day, cost, tokens, steps)
SELECT k.ids[%(place)s::integer], %(scope)s::text, mine.host,
       CASE WHEN %(scope)s::text = 'project' THEN coalesce(mine.worktree, mine.directory) END,
       (now() AT TIME ZONE 'UTC')::date, used.*
FROM counting_budgets(%(session)s) k JOIN session mine ON mine.id = %(session)s, LATERAL (
    SELECT coalesce(sum(m.cost), 0),
           coalesce(sum(m.input + m.output + m.reasoning + m.cache_read + m.cache_write), 0)::bigint, count(m.step)
    FROM message m JOIN session s ON s.id = m.session
    WHERE m.created_at >= date_trunc('day', now(), 'UTC') AND NOT m.copied AND s.host IS NOT DISTINCT FROM mine.host
      AND (%(scope)s::text = 'day' OR coalesce(s.worktree, s.directory) = coalesce(mine.worktree, mine.directory))
) used
ON CONFLICT (id) DO NOTHING

-- name: hold_counting
-- Let no other transaction count an answer in these of a session's budgets until this one has ended.
SELECT pg_advisory_xact_lock(%(key)s, budget) FROM (
    SELECT hashtext(k.ids[place]) AS budget FROM counting_budgets(%(session)s) k, unnest(%(places)s::integer[]) place
    ORDER BY budget -- the order of these locks: each holder takes several
) counted

-- name: begin_counting
-- From here on, let no budget but a turn's own begin to count this session: the transaction sees all that do.
SELECT pg_advisory_xact_lock_shared(%(key)s, budget) FROM (
    SELECT hashtext(id) AS budget FROM counting_budgets(%(session)s) k, unnest(k.ids[2:]) id ORDER BY budget
) counting

-- name: users_of_tree
-- How many sessions of a tree have had answers since a budget began.
SELECT count(DISTINCT m.session) AS sessions FROM message m JOIN budget b ON b.id = %(budget)s
WHERE m.session = ANY(%(sessions)s) AND NOT m.copied AND (b.scope = 'session' OR m.created_at >= b.started_at)

-- name: users_of_day
-- How many sessions have had answers today that a budget counts.
SELECT count(DISTINCT m.session) AS sessions
FROM message m JOIN session s ON s.id = m.session JOIN budget b ON b.id = %(budget)s
WHERE m.created_at >= date_trunc('day', now(), 'UTC') AND NOT m.copied AND s.host IS NOT DISTINCT FROM b.host
  AND (b.worktree IS NULL OR coalesce(s.worktree, s.directory) = b.worktree)

-- name: extend
-- Raise a limit.
UPDATE budget SET raised = %(raised)s WHERE id = %(budget)s

-- name: warn
-- Note that a person is to be told.
UPDATE budget SET warned = %(warned)s, warned_at = now(), warned_in = %(session)s, notified_at = NULL
WHERE id = %(budget)s

-- name: wake_waiting
-- Have the sessions that ask at a limit look at their rows again.
INSERT INTO outbox (session, kind, subject)
SELECT session, 'resume', id FROM ask WHERE budget = %(budget)s AND state = 'open'
ON CONFLICT (session, kind, subject) DO UPDATE SET id = DEFAULT, created_at = now() -- one may be on its way

-- name: wake_waiting_in
-- Have those of these sessions that ask at a limit look at their rows again.
INSERT INTO outbox (session, kind, subject)
SELECT session, 'resume', id FROM ask WHERE budget = ANY(%(budgets)s) AND state = 'open' AND session = ANY(%(sessions)s)
ON CONFLICT (session, kind, subject) DO UPDATE SET id = DEFAULT, created_at = now() -- one may be on its way

-- name: finish
-- Make the newest step of a turn its last.
UPDATE turn SET last_step = step WHERE id = %(turn)s AND last_step IS NULL
