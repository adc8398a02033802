-- name: due
-- Sessions that have something to do and have not moved for a while, with the calls that wait for nobody (`ready`).
WITH working AS MATERIALIZED ( -- those that wait are left out first: they are the many
    SELECT t.session, t.id AS turn, t.step, NULL AS accepted_at, i.interrupted, coalesce(c.ready, '{}') AS ready
    FROM turn t CROSS JOIN LATERAL (
        SELECT (SELECT status = 'ended' FROM session s WHERE s.id = t.session) -- a join would read all sessions
               OR EXISTS (SELECT FROM stop WHERE stop.turn = t.id) AS interrupted
        OFFSET 0 -- once for each turn
    ) i
    CROSS JOIN LATERAL ( -- NOT IN is read once, whatever the planner expects; NOT EXISTS for each call
        SELECT count(*) AS unsettled, array_agg(call.id ORDER BY call.position) FILTER (WHERE CASE call.state
            WHEN 'claimed' THEN call.id NOT IN (SELECT task.call FROM task WHERE settled_at IS NULL AND delivery IS NULL)
                AND call.id NOT IN (SELECT wait.call FROM wait WHERE ended_at IS NULL AND (until > now()) IS NOT FALSE)
            ELSE call.id NOT IN (SELECT ask.call FROM ask WHERE state = 'open' AND call IS NOT NULL)
                AND NOT EXISTS (SELECT FROM call earlier -- that it waits for
                    WHERE earlier.turn = t.id AND earlier.step = t.step AND earlier.position = ANY (call.waits_for)
                      AND earlier.state IN ('prepared', 'claimed')) END) AS ready
        FROM call WHERE call.turn = t.id AND call.step = t.step AND call.state IN ('prepared', 'claimed')
    ) c
    WHERE t.state = 'open' AND (i.interrupted OR c.ready IS NOT NULL OR (c.unsettled = 0 AND t.id NOT IN (
        SELECT ask.turn FROM ask -- at a limit, which a day's end lifts
        WHERE ask.state = 'open' AND ask.call IS NULL AND (ask.lapses_at IS NULL OR ask.lapses_at > now()))))
      AND (i.interrupted OR t.id NOT IN (
        SELECT paused.id FROM generation g JOIN turn paused ON paused.session = g.session AND paused.state = 'open'
        WHERE g.next_at >= now() AND g.paused_at <= now() -- a pause that begins later is of a clock that was ahead
          AND (g.turn = paused.id AND g.step = paused.step
               OR g.turn IS NULL AND g.purpose = 'compaction' AND g.begun_at >= paused.opened_at)))
    UNION ALL
    SELECT w.session, NULL, NULL, max(w.accepted_at), false, '{}' FROM work w JOIN session s ON s.id = w.session
    WHERE w.state = 'accepted' AND s.status = 'active'
      AND NOT EXISTS (SELECT FROM turn t WHERE t.session = w.session AND t.state = 'open')
    GROUP BY w.session
)
SELECT s.id AS session, s.host, f.turn, f.step, h.seq, s.stuck, r.run, coalesce(r.count, 0) AS refreshes,
       coalesce(r.restarts, 0) AS restarts, f.interrupted, f.ready
FROM working f JOIN session s ON s.id = f.session JOIN session_head h ON h.session = f.session
LEFT JOIN refresh r ON r.session = f.session AND r.at >= h.moved_at
CROSS JOIN LATERAL (
    SELECT coalesce(max(at), '-infinity') AS since FROM (VALUES
        (h.moved_at), (f.accepted_at), (r.at), -- and when what it waited for had come
        ((SELECT next_at FROM generation g WHERE g.turn = f.turn AND g.step = f.step)),
        ((SELECT max(next_at) FROM generation g WHERE g.session = f.session AND g.turn IS NULL AND g.next_at IS NOT NULL)),
        ((SELECT max(coalesce(settled_at, lapses_at)) FROM ask
          WHERE ask.turn = f.turn AND (ask.call IS NULL OR ask.call = ANY (f.ready)))),
        ((SELECT max(settled_at) FROM task WHERE task.call = ANY (f.ready))),
        ((SELECT max(coalesce(ended_at, until)) FROM wait WHERE wait.call = ANY (f.ready))),
        ((SELECT max(stop.accepted_at) FROM stop WHERE stop.turn = f.turn))
    ) AS noted (at)
    WHERE at <= now() -- later ones are of a clock that was ahead
) q
WHERE s.suspension IS NULL AND s.archive IS NULL
  AND q.since < now() - make_interval(secs => %(quiet)s * power(2, coalesce(r.restarts, 0)))
  AND (s.host IS NULL OR EXISTS (SELECT FROM host WHERE host.name = s.host AND host.seen_at > now() - interval '15 s'))
  AND NOT EXISTS (SELECT FROM outbox o WHERE o.session = f.session)
ORDER BY q.since, s.id

-- name: record
-- Note what was done for a session; it counts until the session moves after it.
WITH corrected AS (
    UPDATE session_head SET moved_at = now() WHERE session = %(session)s AND moved_at > now()
)
INSERT INTO refresh (session, run, count, restarts, at) VALUES (%(session)s, %(run)s, %(count)s, %(restarts)s, now())
ON CONFLICT (session) DO UPDATE SET run = %(run)s, count = %(count)s, restarts = %(restarts)s, at = now()

-- name: forget
-- Count from the beginning again.
DELETE FROM refresh WHERE session = %(session)s

-- name: clear_stuck
-- Sessions that have moved lately, or have nothing to do, are not stuck.
UPDATE session SET stuck = NULL FROM session_head h
WHERE session.stuck IS NOT NULL AND h.session = session.id
  AND (h.moved_at BETWEEN now() - make_interval(secs => %(quiet)s) AND now()
       OR NOT (EXISTS (SELECT FROM turn WHERE turn.session = session.id AND turn.state = 'open')
               OR EXISTS (SELECT FROM work WHERE work.session = session.id AND work.state = 'accepted')))
