-- name: of_step
-- What a step depends on besides its conversation: the newest pruning, compactions that wait, the budget of its tree.
WITH RECURSIVE line AS (
    SELECT id, parent FROM session WHERE id = %(session)s
    UNION ALL
    SELECT s.id, s.parent FROM session s JOIN line ON s.id = line.parent
)
SELECT p.turn, p.call, p.tokens AS cleared,
       EXISTS (SELECT FROM work w JOIN compaction_request r ON r.id = w.id
               WHERE w.session = %(session)s AND w.kind = 'compaction' AND NOT r.done
                 AND (w.state = 'accepted' OR (w.state = 'taken' AND w.turn = %(turn)s))) AS compacts,
       b.session AS budget, b.limits, b.cost, b.tokens, b.steps, b.warned_at IS NOT NULL AS warned,
       extract(epoch FROM now() - b.started_at)::bigint AS time, b.estimated
FROM (SELECT id FROM line WHERE parent IS NULL) AS top
LEFT JOIN budget b ON b.session = top.id
LEFT JOIN LATERAL (SELECT p.turn, p.call, p.tokens FROM pruning p JOIN turn t ON t.id = p.turn
                   WHERE p.session = %(session)s ORDER BY t.number DESC LIMIT 1) p ON true
