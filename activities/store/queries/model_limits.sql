-- name: note
-- Note that a model is over its limit for a while.
INSERT INTO model_limit (model, noted_at, until) VALUES (%(model)s, now(), now() + make_interval(secs => %(pause)s))
ON CONFLICT (model) DO UPDATE SET noted_at = now(), until = excluded.until, probe = NULL, probe_at = NULL

-- name: admit
-- Have a generation try a model again (`pause` is null), or hold it for a while, longer if others came before it.
WITH free AS ( -- a limit or a try that begins later is of a clock that was ahead
    SELECT l.model FROM model_limit l LEFT JOIN generation g ON g.id = %(generation)s
    WHERE l.model = %(model)s AND (
        g.begun_at < now() - make_interval(secs => %(longest)s)
        OR (NOT now() BETWEEN l.noted_at AND l.until OR g.kind = ANY(%(over_limit)s)) -- its own pause is over
        AND (l.probe IS NULL OR l.probe = %(generation)s OR NOT l.probe_at BETWEEN now() - interval '1 minute' AND now()))
    FOR UPDATE OF l SKIP LOCKED
), probe AS (
    UPDATE model_limit l SET probe = %(generation)s,
        probe_at = CASE WHEN l.probe = %(generation)s THEN least(l.probe_at, now()) ELSE now() END -- a minute in all
    FROM free WHERE l.model = free.model
    RETURNING l.model
)
SELECT CASE WHEN l.model IS NOT NULL AND NOT EXISTS (SELECT FROM probe)
            THEN CASE WHEN l.announced THEN extract(epoch FROM l.until - now())::float8 ELSE 5 END + (
                SELECT count(*) FROM generation g JOIN turn t ON t.id = g.turn
                WHERE g.next_at > now() AND g.id < %(generation)s AND t.model = %(model)s AND t.state = 'open') END AS pause,
       l.announced
FROM (SELECT) AS one LEFT JOIN LATERAL (
    SELECT model, until, now() BETWEEN noted_at AND until AS announced FROM model_limit WHERE model = %(model)s
) l ON true

-- name: pause
-- Pause a generation without counting a failure.
UPDATE generation SET kind = %(kind)s, paused_at = now(), next_at = now() + make_interval(secs => %(pause)s)
WHERE id = %(generation)s RETURNING next_at

-- name: lift
-- The limit of a model is over for the generation that tried it again.
DELETE FROM model_limit WHERE probe = %(generation)s

-- name: yield_turn
-- A generation whose turn it was to try a model has not asked it.
UPDATE model_limit SET probe = NULL, probe_at = NULL WHERE probe = %(generation)s
