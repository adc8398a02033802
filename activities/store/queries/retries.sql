-- name: find
-- A retry by its id.
SELECT failed_turn, agent, model, variant FROM retry WHERE id = %(id)s

-- name: newest_turn
-- The newest turn of a session that did more than compact its context: agent, model and variant that its first work item named, and whether newer work waits.
SELECT t.id, t.number, t.state, t.reason, (SELECT parent FROM session s WHERE s.id = t.session) AS parent,
       opener.agent, opener.model, opener.variant,
       EXISTS (SELECT 1 FROM work w WHERE w.session = t.session AND w.state = 'accepted') AS waiting
FROM turn t LEFT JOIN LATERAL (
    SELECT w.kind, coalesce(r.agent, p.agent) AS agent, coalesce(r.model, p.model) AS model, coalesce(r.variant, p.variant) AS variant
    FROM work w LEFT JOIN retry r ON r.id = w.id LEFT JOIN prompt p ON p.id = w.id
    WHERE w.turn = t.id ORDER BY w.accepted_seq LIMIT 1
) opener ON true
WHERE t.session = %(session)s AND (t.state = 'open' OR opener.kind IS DISTINCT FROM 'compaction')
ORDER BY t.number DESC LIMIT 1

-- name: facts_of_turn
-- A turn's configuration, which says the form of the result that it owes, and the prompt whose instructions it has.
SELECT turn_config, instructed_by FROM turn WHERE id = %(turn)s

-- name: accept
-- Store what a retry names.
INSERT INTO retry (id, failed_turn, agent, model, variant)
VALUES (%(id)s, %(failed_turn)s, %(agent)s, %(model)s, %(variant)s)
