-- name: begin
-- Record that a call waits.
INSERT INTO wait (call, session, kind, body, until)
VALUES (%(call)s, %(session)s, %(kind)s, %(body)s,
        coalesce(%(moment)s::timestamptz, now() + make_interval(secs => %(seconds)s::float8)))
RETURNING until

-- name: of_call
-- The wait of a call, with the text of a poke.
SELECT w.body, w.until, extract(epoch FROM w.until - clock_timestamp())::float8 AS seconds, w.begun_at,
       w.ending, w.ended_at, w.author, n.body AS text
FROM wait w LEFT JOIN note n ON n.id = w.call || '/poke' WHERE w.call = %(call)s

-- name: end_if_due
-- End a wait whose moment has come.
UPDATE wait SET ending = CASE kind WHEN 'time' THEN 'came' ELSE 'gave_up' END, ended_at = clock_timestamp()
WHERE call = %(call)s AND ended_at IS NULL AND until <= clock_timestamp()
RETURNING ending

-- name: end
-- End an open wait.
UPDATE wait SET ending = %(ending)s, author = %(author)s, ended_at = clock_timestamp()
WHERE call = %(call)s AND ended_at IS NULL RETURNING call

-- name: open_of_session
-- The open waits of a session.
SELECT w.call FROM wait w JOIN call c ON c.id = w.call
WHERE w.session = %(session)s AND w.ended_at IS NULL AND c.state = 'claimed' ORDER BY w.call

-- name: open_pokes
-- The open waits for pokes whose turns are not stopped.
SELECT w.call, w.session, w.body FROM wait w JOIN call c ON c.id = w.call JOIN session s ON s.id = w.session
WHERE w.kind = 'poke' AND w.ended_at IS NULL AND c.state = 'claimed' AND s.status = 'active'
  AND (%(session)s::text IS NULL OR w.session = %(session)s)
  AND NOT EXISTS (SELECT FROM stop WHERE stop.turn = c.turn)
ORDER BY w.begun_at, w.call

-- name: ended_pokes
-- The waits for pokes that have ended lately, the last one first.
SELECT w.body, w.until, NULL::float8 AS seconds, w.begun_at, w.ending, w.ended_at, w.author, NULL AS text
FROM wait w WHERE w.kind = 'poke' AND w.ended_at IS NOT NULL
  AND (%(session)s::text IS NULL OR w.session = %(session)s)
ORDER BY w.ended_at DESC LIMIT 100

-- name: open_files
-- The open waits for files of a host's sessions.
SELECT w.call, w.session, w.body, s.directory FROM wait w JOIN session s ON s.id = w.session JOIN call c ON c.id = w.call
WHERE w.kind = 'file' AND w.ended_at IS NULL AND c.state = 'claimed' AND s.host IS NOT DISTINCT FROM %(host)s ORDER BY w.begun_at
