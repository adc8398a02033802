-- name: of_step
-- What a step depends on besides its conversation: the newest pruning, compactions that wait, the limits that hold, the prompt with instructions or subtasks for its turn, which of these were begun, and whether prompts refer to something.
SELECT p.turn, p.step, p.call, p.tokens AS cleared, (SELECT parent FROM session WHERE id = %(session)s) AS parent,
       EXISTS (SELECT FROM work w JOIN compaction_request r ON r.id = w.id
               WHERE w.session = %(session)s AND w.kind = 'compaction' AND NOT r.done
                 AND (w.state = 'accepted' OR (w.state = 'taken' AND w.turn = %(turn)s))) AS compacts,
       ARRAY(SELECT coalesce(b.limits, k.day_limits[array_position(k.ids, b.id)], '{}')::text
             FROM counting_budgets(%(session)s) k JOIN budget b ON b.id = ANY(k.ids)) AS limits,
       EXISTS (SELECT FROM prompt q WHERE q.refers AND ( -- few of all sessions, by their index
               SELECT w.session = %(session)s AND w.state = 'taken' FROM work w WHERE w.id = q.id)) AS refers,
       i.id AS instructed_by, i.body AS instructions,
       ARRAY(SELECT c.ordered_part FROM call c WHERE c.ordered_by = i.id) AS begun,
       (SELECT max(c.step) FROM call c WHERE c.ordered_by = i.id AND c.turn = %(turn)s) AS begun_at
FROM (SELECT) AS one
LEFT JOIN LATERAL (SELECT p.turn, p.step, p.call, p.tokens FROM pruning p JOIN turn t ON t.id = p.turn
                   WHERE p.session = %(session)s ORDER BY t.number DESC, p.step DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (SELECT i.id, i.body FROM turn t JOIN prompt i ON i.id = t.instructed_by WHERE t.id = %(turn)s) i ON true

-- name: insert_pruning
-- Clear old results of tools from this step on.
INSERT INTO pruning (turn, step, session, call, tokens) VALUES (%(turn)s, %(step)s, %(session)s, %(call)s, %(tokens)s)
