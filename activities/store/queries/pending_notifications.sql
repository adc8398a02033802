-- name: take_asks
-- Take open asks that the person's command has not been run for.
UPDATE ask a SET notified_at = now() FROM session s
WHERE s.id = a.session AND a.id IN (
    SELECT id FROM ask WHERE state = 'open' AND notified_at IS NULL AND NOT is_asked_by_another(ask, NULL)
    ORDER BY asked_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
RETURNING a.id AS ask, a.name, a.session, s.title, s.directory,
          (SELECT tool FROM call WHERE call.id = a.call) AS tool, a.body, a.asked_at AS at

-- name: take_budgets
-- Take budgets that are mostly used, and that the person's command has not been run for.
UPDATE budget b SET notified_at = now() FROM session s
WHERE s.id = coalesce(b.session, b.warned_in) AND b.id IN (
    SELECT id FROM budget WHERE warned_at IS NOT NULL AND notified_at IS NULL
    ORDER BY warned_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
RETURNING b.scope, s.id AS session, s.title, s.directory, b.warned, b.warned_at AS at

-- name: take_turn_ends
-- Take ended turns of people's sessions that the person's command has not been run for.
UPDATE turn t SET notified_at = now() FROM session s
WHERE s.id = t.session AND t.id IN (
    SELECT t.id FROM turn t JOIN session s ON s.id = t.session
    WHERE t.state = 'ended' AND t.notified_at IS NULL AND t.ended_at > now() - interval '1 day' AND s.parent IS NULL
    ORDER BY t.ended_at LIMIT %(limit)s FOR UPDATE OF t SKIP LOCKED
)
RETURNING t.id AS turn, t.session, s.title, s.directory, t.reason, t.ended_at AS at

-- name: skip_older_asks
-- Mark older open asks of a host as notified.
UPDATE ask SET notified_at = now() WHERE id IN (
    SELECT a.id FROM ask a JOIN session s ON s.id = a.session
    WHERE s.host IS NOT DISTINCT FROM %(host)s
      AND a.state = 'open' AND a.notified_at IS NULL AND a.asked_at < now() - make_interval(secs => %(age)s)
    FOR UPDATE OF a SKIP LOCKED
)

-- name: skip_older_turn_ends
-- Mark turns of a host that ended longer ago as notified.
UPDATE turn SET notified_at = now() WHERE id IN (
    SELECT t.id FROM turn t JOIN session s ON s.id = t.session
    WHERE s.host IS NOT DISTINCT FROM %(host)s
      AND t.state = 'ended' AND t.notified_at IS NULL AND t.ended_at > now() - interval '1 day'
      AND t.ended_at < now() - make_interval(secs => %(age)s)
    FOR UPDATE OF t SKIP LOCKED
)

-- name: skip_older_budgets
-- Mark as notified the budgets of a host that became mostly used longer ago.
UPDATE budget SET notified_at = now() WHERE id IN (
    SELECT b.id FROM budget b JOIN session s ON s.id = coalesce(b.session, b.warned_in)
    WHERE s.host IS NOT DISTINCT FROM %(host)s
      AND b.notified_at IS NULL AND b.warned_at < now() - make_interval(secs => %(age)s)
    FOR UPDATE OF b SKIP LOCKED
)
