-- name: insert
-- Add a schedule; a row if its id is new.
INSERT INTO schedule (id, host, session, timing, recurrence, zone, overlap, missed, body, author, next_at,
                      head)
VALUES (%(id)s, %(host)s, %(session)s, %(timing)s, %(recurrence)s, %(zone)s, %(overlap)s, %(missed)s, %(body)s,
        %(author)s, %(next_at)s, %(head)s)
ON CONFLICT (id) DO NOTHING RETURNING id

-- name: lock
-- Lock a schedule.
SELECT id, host, session, timing, recurrence, zone, overlap, missed, body, state, author, note, next_at, queued_for,
       version, trouble, created_at, now() AS now, seq, head
FROM schedule WHERE id = %(id)s FOR UPDATE

-- name: list_all
-- Schedules with their last record of a run, the next due first; one by its id.
SELECT s.id, s.host, s.session, s.timing, s.recurrence, s.zone, s.overlap, s.missed, s.body, s.state, s.author, s.note,
       s.next_at, s.queued_for, s.version, s.trouble, s.created_at, now() AS now, s.seq, s.head, last.record AS last
FROM schedule s
LEFT JOIN LATERAL (SELECT row_to_json(r) AS record
                   FROM (SELECT schedule, seq, kind, author, nominal, session, prompt, note, seal, at
                         FROM schedule_record
                         WHERE schedule = s.id AND (nominal IS NOT NULL OR kind = 'triggered')
                         ORDER BY seq DESC LIMIT 1) r) last ON true
WHERE (%(id)s::text IS NULL OR s.id = %(id)s) AND (%(all)s OR s.state IN ('active', 'paused'))
ORDER BY s.state, s.next_at NULLS LAST, s.id

-- name: of_prompt
-- The schedule and the session of a prompt that a person has triggered.
SELECT schedule, session FROM schedule_record WHERE prompt = %(prompt)s

-- name: settle
-- Record what was decided about a moment.
UPDATE schedule SET next_at = %(next_at)s, queued_for = %(queued_for)s, state = %(state)s, note = %(note)s,
                    version = version + (%(state)s <> state)::int
WHERE id = %(id)s

-- name: set_state
-- Pause or resume a schedule. Nothing is decided twice about a moment, which Temporal's clock may have brought early.
UPDATE schedule SET state = %(state)s, note = %(note)s, next_at = greatest(next_at, %(next_at)s), queued_for = NULL, version = version + 1
WHERE id = %(id)s

-- name: erase
-- Delete a schedule: what remains names nothing that was written.
UPDATE schedule SET state = 'deleted', body = NULL, note = NULL, next_at = NULL, queued_for = NULL,
                    version = version + 1
WHERE id = %(id)s

-- name: erase_notes
-- Erase the notes of a schedule's records, and the salts of their seals.
UPDATE schedule_record SET note = NULL, salt = NULL WHERE schedule = %(id)s

-- name: busy_session
-- Whether the session of a schedule's last run is at work.
SELECT EXISTS (SELECT FROM turn WHERE turn.session = r.session AND turn.state = 'open')
    OR EXISTS (SELECT FROM work WHERE work.session = r.session AND work.state = 'accepted') AS busy
FROM (SELECT coalesce(%(session)s, (SELECT session FROM schedule_record
                                    WHERE schedule = %(id)s AND session IS NOT NULL ORDER BY seq DESC LIMIT 1)) AS session) r

-- name: busy_queue
-- Whether a prompt of a schedule waits to be taken.
SELECT EXISTS (SELECT FROM schedule_record r JOIN work w ON w.id = r.prompt AND w.state = 'accepted'
               WHERE r.schedule = %(id)s) AS busy

-- name: unsent
-- Schedules that Temporal does not have as they are, in random order, so that failing ones do not block the others.
SELECT id, host, recurrence, zone, version, trouble, state = 'active' AS wanted
FROM schedule WHERE sent_version IS DISTINCT FROM version ORDER BY random() LIMIT 100

-- name: wanted
-- Schedules that Temporal is to have.
SELECT id, host, recurrence, zone, version, trouble, true AS wanted FROM schedule WHERE state = 'active' ORDER BY id

-- name: sent
-- Record that Temporal has acknowledged a schedule, or why it has not.
UPDATE schedule SET sent_version = CASE WHEN %(trouble)s::text IS NULL THEN %(version)s::integer ELSE sent_version END,
                    trouble = %(trouble)s
WHERE id = %(id)s

-- name: overdue
-- Schedules whose moment Temporal has let pass, or whose run waits; any of them, as above.
SELECT id FROM schedule
WHERE state = 'active' AND (next_at < now() - make_interval(secs => %(seconds)s) OR queued_for IS NOT NULL)
ORDER BY random() LIMIT 100

-- name: of_session
-- The schedules that prompt a session.
SELECT id FROM schedule WHERE session = %(session)s AND state IN ('active', 'paused') ORDER BY id
