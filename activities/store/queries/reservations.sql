-- name: of_others
-- What all but one generation have reserved of budgets, with or without titles; of a day's, on that day.
SELECT b.id AS budget, coalesce(sum(r.cost), 0) AS cost, coalesce(sum(r.tokens), 0)::bigint AS tokens,
       count(*) FILTER (WHERE r.purpose = 'step') AS steps
FROM reservation r JOIN budget b ON b.id = ANY(r.budgets) AND (b.day IS NULL OR b.day = r.day)
WHERE b.id = ANY(%(budgets)s) AND r.generation IS DISTINCT FROM %(generation)s::text
  AND (%(titles)s::boolean OR r.purpose <> 'title')
GROUP BY b.id

-- name: reserve
-- Reserve for a generation, by its newest attempt.
INSERT INTO reservation (generation, budgets, session, turn, purpose, cost, tokens, sent_cost, sent_tokens, fence)
VALUES (%(generation)s, %(budgets)s, %(session)s, %(turn)s, %(purpose)s, %(cost)s, %(tokens)s, %(sent_cost)s,
        %(sent_tokens)s, %(fence)s)

-- name: wait
-- Pause a generation until a reservation of a budget ends.
UPDATE generation SET kind = %(kind)s, waits_at = %(budget)s, paused_at = now(),
                      next_at = now() + make_interval(secs => %(longest)s)
WHERE id = %(generation)s

-- name: release
-- End the reservation of a generation, by any attempt or this one; what it was.
DELETE FROM reservation
WHERE generation = %(generation)s AND (%(fence)s::bigint[] IS NULL OR fence = %(fence)s)
RETURNING generation, budgets, day, purpose, sent_cost, sent_tokens, fence

-- name: release_lost
-- End what earlier attempts at a generation, or its turn's other generations, have reserved; what it was.
DELETE FROM reservation WHERE generation = %(generation)s OR turn = %(turn)s::text
RETURNING generation, budgets, day, purpose, sent_cost, sent_tokens, fence

-- name: lost
-- Reservations of turns' lost requests: no attempt takes so many seconds, and a suspended session makes none.
SELECT r.session, r.generation FROM reservation r JOIN session s ON s.id = r.session
WHERE r.turn IS NOT NULL AND (s.suspension IS NOT NULL OR r.reserved_at < now() - make_interval(secs => %(age)s))

-- name: release_of_turn
-- End the reservations of a turn's generations; what they were.
DELETE FROM reservation WHERE turn = %(turn)s RETURNING generation, budgets, day, purpose, sent_cost, sent_tokens, fence

-- name: of_asides
-- Reservations for requests that no turn waits for, which have begun a while ago.
SELECT r.generation, r.session FROM reservation r JOIN generation g ON g.id = r.generation
WHERE r.turn IS NULL AND g.begun_at < now() - make_interval(secs => %(quiet)s)

-- name: lock
-- Lock budgets, and those that count what a session uses, in the order of all locks.
SELECT FROM counting_budgets(%(session)s) k JOIN budget b ON b.id = ANY(k.ids || %(budgets)s)
ORDER BY array_position(ARRAY['turn', 'session', 'project', 'day'], b.scope), b.id FOR UPDATE OF b

-- name: charge
-- Count in locked budgets what was used without an answer, by an estimate.
UPDATE budget SET cost = cost + %(cost)s, tokens = tokens + %(tokens)s, estimated = estimated + %(cost)s
WHERE id = ANY(%(budgets)s) AND (day IS NULL OR day = %(day)s)

-- name: settle
-- Count what an answer has used, in place of what was reserved for it: where that was, and in budgets of other scopes.
WITH reserved AS (
    DELETE FROM reservation WHERE generation = %(generation)s RETURNING budgets, day
), counting AS MATERIALIZED (
    SELECT b.id FROM counting_budgets(%(session)s) k LEFT JOIN reserved r ON true
    JOIN budget b ON b.id = ANY(k.ids || r.budgets)
    WHERE CASE WHEN b.id = ANY(r.budgets) THEN b.day IS NULL OR b.day = r.day
          ELSE b.scope NOT IN (SELECT other.scope FROM budget other WHERE other.id = ANY(r.budgets)) END
    ORDER BY array_position(ARRAY['turn', 'session', 'project', 'day'], b.scope), b.id FOR UPDATE OF b
)
UPDATE budget SET cost = cost + %(cost)s, tokens = tokens + %(tokens)s, steps = steps + %(steps)s,
                  estimated = estimated + %(estimated)s
FROM counting WHERE budget.id = counting.id
