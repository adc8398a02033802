-- name: step_status
-- A turn with the generation of one of its steps: fence, failures, remaining pause in seconds, and the stored answer.
SELECT t.state, t.turn_config, t.agent, t.model, t.variant, t.number, t.last_step,
       EXISTS (SELECT 1 FROM stop WHERE stop.turn = t.id) AS stopped, g.id, g.fence, g.failures, g.waited_ms, g.thoughtless,
       g.reminders_seal,
       -- a pause that begins later is of a clock that was ahead
       CASE WHEN g.paused_at <= now() THEN extract(epoch FROM g.next_at - now())::float8 END AS pause, m.body AS answer,
       EXISTS (SELECT FROM model_limit l WHERE l.model = t.model) AS limited
FROM turn t
LEFT JOIN generation g ON g.turn = t.id AND g.step = %(step)s
LEFT JOIN message m ON m.generation = g.id
WHERE t.id = %(turn)s AND t.session = %(session)s

-- name: status
-- A generation of a session, as above.
SELECT g.id, g.fence, g.failures, g.waited_ms, g.thoughtless, g.reminders_seal,
       CASE WHEN g.paused_at <= now() THEN extract(epoch FROM g.next_at - now())::float8 END AS pause, m.body AS answer,
       false AS limited
FROM generation g LEFT JOIN message m ON m.generation = g.id
WHERE g.id = %(generation)s AND g.session = %(session)s

-- name: provider_has_answered
-- A row if a model of this provider has ever answered.
SELECT 1 FROM message WHERE starts_with(model, %(begun)s) LIMIT 1

-- name: hold
-- Lock a generation that must still have this fence, or fail.
SELECT hold_generation(%(generation)s, %(fence)s)

-- name: register
-- Give a generation a new fence and end its pause.
INSERT INTO generation (id, session, purpose, turn, step, fence)
VALUES (%(id)s, %(session)s, %(purpose)s, %(turn)s, %(step)s, %(fence)s)
ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, paused_at = NULL, next_at = NULL, failure = NULL,
    waits_at = NULL
WHERE generation.session = excluded.session

-- name: renew
-- Give a generation another id, also as the one that tries its model again.
WITH probe AS (UPDATE model_limit SET probe = %(id)s WHERE probe = %(generation)s)
UPDATE generation SET id = %(id)s WHERE id = %(generation)s

-- name: remind
-- Record what a generation's first request tells the model.
UPDATE generation SET reminders = %(reminders)s, reminders_salt = %(salt)s, reminders_seal = %(seal)s
WHERE id = %(generation)s

-- name: record_failure
-- Count a failure and pause the generation.
UPDATE generation SET failures = failures + 1, waited_ms = waited_ms + %(waited_ms)s, kind = %(kind)s,
       thoughtless = thoughtless OR %(thoughtless)s, paused_at = now(), next_at = now() + make_interval(secs => %(pause)s)
WHERE id = %(generation)s

-- name: record_final_failure
-- Record how a provider has failed a generation for good.
UPDATE generation SET failure = %(failure)s WHERE id = %(generation)s

-- name: end_pauses
-- End the pause of a session's open turn, also behind the limit of its model. Those of ended turns hold up nothing.
WITH ended AS (
    UPDATE generation g SET next_at = now() FROM turn t
    WHERE t.session = %(session)s AND t.state = 'open' AND g.session = t.session AND g.next_at > now()
      AND (g.turn = t.id OR (g.purpose = 'compaction' AND g.begun_at >= t.opened_at))
    RETURNING g.id, t.model
), lifted AS (
    DELETE FROM model_limit WHERE model IN (SELECT model FROM ended)
)
SELECT id FROM ended
