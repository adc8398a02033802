-- name: open_turn
-- The open turn of a session.
SELECT id, number, turn_config, agent, model, variant, step, error FROM turn WHERE session = %(session)s AND state = 'open'

-- name: open
-- Open a turn under the session's next number, with the configuration of the turn before that could use its own.
INSERT INTO turn (id, session, number, turn_config, agent, model, variant, error, instructed_by)
VALUES (%(id)s, %(session)s, 1 + (SELECT coalesce(max(number), 0) FROM turn WHERE session = %(session)s),
        %(turn_config)s, %(agent)s, %(model)s, %(variant)s, %(error)s, %(instructed_by)s)
RETURNING id, number, turn_config, agent, model, variant, step, error,
          (SELECT p.turn_config FROM turn p WHERE p.session = %(session)s AND NOT (p.step = 0 AND p.error IS NOT NULL)
           ORDER BY p.number DESC LIMIT 1) AS before

-- name: last_model
-- The model of the newest turn that could ask one.
SELECT model FROM turn WHERE session = %(session)s AND NOT (step = 0 AND error IS NOT NULL)
ORDER BY number DESC LIMIT 1

-- name: status
-- A turn of this session, and whether a stop names it.
SELECT t.state, t.turn_config, t.agent, t.model, t.variant, t.number, t.last_step,
       EXISTS (SELECT 1 FROM stop WHERE stop.turn = t.id) AS stopped
FROM turn t WHERE t.id = %(turn)s AND t.session = %(session)s

-- name: why_over
-- The nearest turn, from this one up through its callers, that was stopped or whose session has ended.
WITH RECURSIVE line AS (
    SELECT id, 0 AS above FROM turn WHERE id = %(turn)s
    UNION ALL
    SELECT c.turn, line.above + 1 FROM line JOIN work w ON w.turn = line.id
    JOIN task k ON k.prompt = w.id AND k.settled_at IS NULL JOIN call c ON c.id = k.call
)
SELECT line.above, t.session, s.status = 'ended' AS session_ended, o.author, o.accepted_at
FROM line JOIN turn t ON t.id = line.id JOIN session s ON s.id = t.session
LEFT JOIN LATERAL (SELECT author, accepted_at FROM stop WHERE turn = t.id ORDER BY accepted_at LIMIT 1) o ON true
WHERE s.status = 'ended' OR o.author IS NOT NULL
ORDER BY line.above LIMIT 1

-- name: record_step
-- Raise the highest registered step of a turn.
UPDATE turn SET step = greatest(step, %(step)s) WHERE id = %(turn)s

-- name: change_model
-- Have another model answer the rest of a turn.
UPDATE turn SET model = %(model)s, variant = NULL WHERE id = %(turn)s AND state = 'open'

-- name: find_change
-- A row if a turn's model was changed for this reason.
SELECT 1 FROM note WHERE id = %(note)s

-- name: close
-- Close an open turn; no row if it is closed.
UPDATE turn SET state = 'ended', reason = %(reason)s, error = %(error)s, ended_at = now()
WHERE id = %(turn)s AND state = 'open'
RETURNING id

-- name: opening
-- Whether a person has stopped the turn before; of a schedule's run its times, its number, and when the one before was and how it ended.
SELECT EXISTS (SELECT FROM turn p JOIN stop ON stop.turn = p.id
               WHERE p.session = t.session AND p.number = t.number - 1 AND p.reason = 'stopped') AS follows_stop, run.*
FROM turn t LEFT JOIN LATERAL (
    SELECT s.timing || ', ' || s.zone AS timing, (count(e.seq) + 1)::text AS number,
           coalesce(max(to_char(coalesce(e.nominal, e.at) AT TIME ZONE s.zone, 'YYYY-MM-DD HH24:MI, ') || coalesce(p.reason, 'end unknown')), 'none') AS before
    FROM work JOIN schedule_record r ON r.prompt = work.id JOIN schedule s ON s.id = r.schedule
    LEFT JOIN schedule_record e ON e.schedule = s.id AND e.seq < r.seq AND e.prompt IS NOT NULL
    LEFT JOIN work w ON w.id = e.prompt LEFT JOIN turn p ON p.id = w.turn
    WHERE work.turn = t.id GROUP BY s.id LIMIT 1
) run ON true
WHERE t.id = %(turn)s AND %(step)s = 1 + (SELECT count(DISTINCT c.step) FROM call c WHERE c.turn = t.id AND c.step < %(step)s AND c.ordered_by IS NOT NULL)

-- name: unfinished
-- The turns of a session that failed, were stopped, or were cut short by its end.
SELECT t.id, t.number, t.agent, t.model, t.step, t.reason, t.error, g.failure, t.opened_at, t.ended_at
FROM turn t LEFT JOIN generation g ON g.turn = t.id AND g.step = t.step
WHERE t.session = %(session)s AND t.reason IN ('failed', 'stopped', 'ended') ORDER BY t.number
