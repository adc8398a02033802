-- name: note
-- Note that a model is over its limit for a while.
INSERT INTO model_limit (model, noted_at, until) VALUES (%(model)s, now(), now() + make_interval(secs => %(pause)s))
ON CONFLICT (model) DO UPDATE SET noted_at = now(), until = excluded.until, probe = NULL, probe_at = NULL

-- name: admit
-- Have a generation try a model again (`pause` is null), or hold it for a while, longer if others came before it.
WITH free AS (
    SELECT model FROM model_limit
    WHERE model = %(model)s
      AND (NOT now() BETWEEN noted_at AND until OR EXISTS ( -- its own pause is over
          SELECT FROM generation WHERE id = %(generation)s AND kind = ANY(%(over_limit)s)))
      AND (probe IS NULL OR probe = %(generation)s OR probe_at < now() - interval '1 minute')
    FOR UPDATE SKIP LOCKED
), probe AS (
    UPDATE model_limit SET probe = %(generation)s, probe_at = now() FROM free WHERE model_limit.model = free.model
    RETURNING model_limit.model
)
SELECT CASE WHEN l.model IS NOT NULL AND NOT EXISTS (SELECT FROM probe)
            THEN CASE WHEN l.until > now() THEN extract(epoch FROM l.until - now())::float8 ELSE 5 END + (
                SELECT count(*) FROM generation g JOIN turn t ON t.id = g.turn
                WHERE g.next_at > now() AND g.id < %(generation)s AND t.model = %(model)s AND t.state = 'open') END AS pause,
       l.until > now() AS announced
FROM (SELECT) AS one LEFT JOIN model_limit l ON l.model = %(model)s

-- name: hold
-- Pause a generation without counting a failure.
UPDATE generation SET kind = %(kind)s, paused_at = now(), next_at = now() + make_interval(secs => %(pause)s)
WHERE id = %(generation)s RETURNING next_at

-- name: lift
-- The limit of a model is over for the generation that tried it again.
DELETE FROM model_limit WHERE probe = %(generation)s

-- name: give_way
-- A generation that was to try a model has not asked it.
UPDATE model_limit SET probe = NULL, probe_at = NULL WHERE probe = %(generation)s
