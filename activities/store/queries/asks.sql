-- name: insert
-- Open an ask.
INSERT INTO ask (id, session, turn, call, budget, at_limit, lapses_at, revision, requests, kind, body, digest)
VALUES (%(id)s, %(session)s, %(turn)s, %(call)s, %(budget)s, %(at_limit)s,
        now() + make_interval(secs => %(rest)s::float8), %(revision)s, %(requests)s, %(kind)s, %(body)s, %(digest)s)

-- name: of_call
-- Lock a call's asks; each with its answer's event and the call's state.
SELECT a.*, e.canonical AS answer, c.state AS call_state
FROM ask a LEFT JOIN call c ON c.id = a.call LEFT JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.call = %(call)s ORDER BY a.asked_at, a.id FOR UPDATE OF a

-- name: newest_of_turn
-- Lock the open or newest ask of a turn itself; with its answer's event and no call's state.
SELECT a.*, coalesce(a.lapses_at <= now(), false) AS lapsed, e.canonical AS answer, NULL AS call_state
FROM ask a LEFT JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.turn = %(turn)s AND a.call IS NULL ORDER BY a.asked_at DESC, a.id DESC LIMIT 1 FOR UPDATE OF a

-- name: answered_at_limit
-- The newest answer at a limit since a turn began, in any session; with its event.
SELECT a.*, e.canonical AS answer FROM ask a JOIN turn t ON t.id = %(turn)s
JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.budget = %(budget)s AND a.at_limit = %(at_limit)s AND a.state = 'answered' AND a.settled_at > t.opened_at
  AND (a.lapses_at IS NULL OR a.lapses_at > now())
ORDER BY a.settled_at DESC LIMIT 1

-- name: open_of_session
-- Lock the open asks of a session.
SELECT * FROM ask WHERE session = %(session)s AND state = 'open' ORDER BY asked_at, id FOR UPDATE

-- name: of_turn
-- Lock a turn's asks; each with its answer's event and its call's state.
SELECT a.*, e.canonical AS answer, c.state AS call_state
FROM ask a LEFT JOIN call c ON c.id = a.call LEFT JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.turn = %(turn)s ORDER BY a.asked_at, a.id FOR UPDATE OF a

-- name: rejected
-- The asks of a turn that were rejected without feedback; each with its answer's event.
SELECT a.*, e.canonical AS answer FROM ask a LEFT JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.turn = %(turn)s AND a.state = 'answered' AND a.reply = 'reject' AND a.feedback IS NULL AND a.call IS NOT NULL

-- name: lock
-- Lock an ask; with its answer's event and its call's state.
SELECT a.*, coalesce(a.lapses_at <= now(), false) AS lapsed, e.canonical AS answer, c.state AS call_state
FROM ask a LEFT JOIN call c ON c.id = a.call LEFT JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.id = %(ask)s FOR UPDATE OF a

-- name: answers
-- The answered questions of a call, the newest first; each with its answer's event.
SELECT a.*, e.canonical AS answer FROM ask a JOIN event e ON e.session = a.session AND e.seq = a.answer_seq
WHERE a.call = %(call)s AND a.kind = 'question' AND a.reply = 'answer' ORDER BY a.revision DESC

-- name: find
-- The session of an ask.
SELECT session FROM ask WHERE id = %(ask)s

-- name: answer
-- Record the answer to an ask, with the number of its event.
UPDATE ask SET state = 'answered', reply = %(reply)s, feedback = %(feedback)s,
               feedback_salt = %(salt)s, answers = %(answers)s, answers_salt = %(answers_salt)s, by_grant = %(grant)s,
               author = %(author)s, settled_at = now(), answer_seq = %(seq)s
WHERE id = %(ask)s

-- name: reopen
-- Discard an answer that no event explains.
UPDATE ask SET state = 'open', reply = NULL, feedback = NULL, feedback_salt = NULL, answers = NULL,
               answers_salt = NULL, by_grant = NULL, author = NULL, settled_at = NULL, answer_seq = NULL
WHERE id = %(ask)s

-- name: close
-- Close an ask without an answer.
UPDATE ask SET state = 'closed', reason = %(reason)s, reply = NULL, by_grant = NULL, author = NULL, settled_at = now()
WHERE id = %(ask)s

-- name: inbox
-- Open asks, one for all that wait at a limit, of all sessions or of one tree; or one ask by id or name in any state.
-- With the agents from the top session down, and the titles of the others that wait at the limit.
WITH RECURSIVE tree AS (
    SELECT id FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id FROM session s JOIN tree ON s.parent = tree.id
)
SELECT a.id, a.name, a.session, a.call, a.kind, a.body, a.digest, a.asked_at, a.state,
       c.tool, coalesce(c.arguments, '{}') AS arguments,
       coalesce(c.display, '{}') AS display, c.plan,
       ARRAY(SELECT b.name FROM call e JOIN ask b ON b.call = e.id AND b.state = 'open'
             WHERE e.turn = c.turn AND e.step = c.step AND e.position = ANY (c.waits_for)
               AND e.recovery = 'reconcilable' AND c.recovery = e.recovery ORDER BY e.position) AS builds_on,
       ARRAY(SELECT os.title FROM ask o JOIN session os ON os.id = o.session
             WHERE o.budget = a.budget AND o.at_limit = a.at_limit AND o.state = 'open' AND o.id <> a.id
             ORDER BY o.id) AS also_waiting,
       s.title, s.directory, s.agent, t.turn_config,
       CASE WHEN s.parent IS NULL THEN ARRAY[s.agent] ELSE (
           WITH RECURSIVE line AS (
               SELECT s.parent, s.agent, 0 AS above
               UNION ALL
               SELECT p.parent, p.agent, line.above + 1
               FROM line CROSS JOIN LATERAL (SELECT parent, agent FROM session WHERE id = line.parent OFFSET 0) p
           ) SELECT array_agg(agent ORDER BY above DESC) FROM line
       ) END AS path
FROM ask a LEFT JOIN call c ON c.id = a.call JOIN session s ON s.id = a.session JOIN turn t ON t.id = a.turn
WHERE (a.state = 'open' AND %(ask)s::text IS NULL
       AND NOT is_asked_by_another(a, CASE WHEN %(session)s::text IS NOT NULL THEN ARRAY(SELECT id FROM tree) END)
       OR a.id = %(ask)s OR a.name = %(ask)s)
  AND (%(session)s::text IS NULL OR a.session IN (SELECT id FROM tree))
ORDER BY a.id LIMIT %(limit)s

-- name: open_ids
-- All open asks, the oldest first; one for all that wait at a limit.
SELECT id FROM ask WHERE state = 'open' AND NOT is_asked_by_another(ask, NULL) ORDER BY id
