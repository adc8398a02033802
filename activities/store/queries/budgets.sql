-- name: of_session
-- The budget of a session's tree, if it has one.
WITH RECURSIVE line AS (
    SELECT id, parent FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
)
SELECT b.session, b.limits, b.cost, b.tokens, b.steps, b.warned_at IS NOT NULL AS warned,
       extract(epoch FROM now() - b.started_at)::bigint AS time, b.estimated
FROM budget b JOIN line ON b.session = line.id WHERE line.parent IS NULL

-- name: lock
-- Lock a budget; as it is now.
SELECT b.session, b.limits, b.cost, b.tokens, b.steps, b.warned_at IS NOT NULL AS warned,
       extract(epoch FROM clock_timestamp() - b.started_at)::bigint AS time, b.estimated
FROM budget b WHERE b.session = %(budget)s FOR UPDATE

-- name: reserved
-- What all but one generation have reserved of a budget.
SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(tokens), 0)::bigint AS tokens, count(*) AS steps
FROM reservation WHERE budget = %(budget)s AND generation <> %(generation)s

-- name: reserve
-- Reserve for a generation, by its newest attempt.
INSERT INTO reservation (generation, budget, session, turn, purpose, cost, tokens, sent_cost, sent_tokens, fence)
VALUES (%(generation)s, %(budget)s, %(session)s, %(turn)s, %(purpose)s, %(cost)s, %(tokens)s, %(sent_cost)s,
        %(sent_tokens)s, %(fence)s)

-- name: release
-- End the reservation of a generation, by any attempt or this one; what it was.
DELETE FROM reservation
WHERE generation = %(generation)s AND (%(fence)s::bigint[] IS NULL OR fence = %(fence)s)
RETURNING generation, budget, purpose, sent_cost, sent_tokens, fence

-- name: release_of_turn
-- End the reservations of a turn's generations; what they were.
DELETE FROM reservation WHERE turn = %(turn)s RETURNING generation, budget, purpose, sent_cost, sent_tokens, fence

-- name: charge
-- Count what was used without an answer, by an estimate.
UPDATE budget SET cost = cost + %(cost)s, tokens = tokens + %(tokens)s, estimated = estimated + %(cost)s
WHERE session = %(budget)s

-- name: settle
-- Count what an answer has used, in place of what was reserved for it.
WITH RECURSIVE line AS (
    SELECT id, parent FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
), released AS (DELETE FROM reservation WHERE generation = %(generation)s)
UPDATE budget b SET cost = b.cost + %(cost)s, tokens = b.tokens + %(tokens)s, steps = b.steps + %(steps)s,
                    estimated = b.estimated + %(estimated)s
FROM line WHERE line.parent IS NULL AND b.session = line.id

-- name: set
-- Give a session's tree the limits of a person, and count what it has used before.
INSERT INTO budget (session, limits, by_person, cost, tokens, steps)
VALUES (%(session)s, %(limits)s, true, %(cost)s, %(tokens)s, %(steps)s)
ON CONFLICT (session) DO UPDATE SET limits = excluded.limits, by_person = true, warned_at = NULL, notified_at = NULL,
    started_at = now()

-- name: configure
-- Give a session's tree the limits of its configuration, unless a person has set or raised others since it changed.
INSERT INTO budget (session, limits, configured, cost, tokens, steps)
VALUES (%(session)s, %(limits)s, %(limits)s, %(cost)s, %(tokens)s, %(steps)s)
ON CONFLICT (session) DO UPDATE SET limits = excluded.limits, configured = excluded.configured, warned_at = NULL,
    notified_at = NULL
WHERE NOT budget.by_person AND budget.configured::text IS DISTINCT FROM excluded.configured::text

-- name: extend
-- Raise a limit.
UPDATE budget SET limits = %(limits)s, warned_at = NULL, notified_at = NULL WHERE session = %(budget)s

-- name: warn
-- Note that a person is to be told.
UPDATE budget SET warned_at = now() WHERE session = %(budget)s

-- name: wake_waiting
-- Have the other sessions of a tree that ask at their limit look at their rows again.
INSERT INTO outbox (session, kind, subject)
SELECT a.session, 'resume', a.id FROM ask a
WHERE a.call IS NULL AND a.state = 'open' AND a.session <> %(session)s AND a.session IN (
    WITH RECURSIVE tree AS (
        SELECT id FROM session WHERE id = %(budget)s
        UNION ALL
        SELECT s.id FROM session s JOIN tree ON s.parent = tree.id
    ) SELECT id FROM tree)
ON CONFLICT (session, kind, subject) DO NOTHING

-- name: finish
-- Make the newest step of a turn its last.
UPDATE turn SET last_step = step WHERE id = %(turn)s AND last_step IS NULL
