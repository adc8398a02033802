-- name: accept
INSERT INTO prompt (id, session, accepted, mode, body, salt, model, author)
VALUES (%(id)s, %(session)s, %(accepted)s, %(mode)s, %(body)s, %(salt)s, %(model)s, %(author)s)

-- name: find
SELECT id, session, state FROM prompt WHERE id = %(id)s

-- name: oldest
SELECT id, model, accepted, false AS retry,
       EXISTS (SELECT 1 FROM task k JOIN call c ON c.id = k.call WHERE k.prompt = prompt.id AND c.state <> 'claimed')
       AS forsaken
FROM prompt WHERE session = %(session)s AND state = 'accepted'
UNION ALL
SELECT id, model, accepted, true, false FROM retry WHERE session = %(session)s AND state = 'accepted'
ORDER BY accepted LIMIT 1

-- name: steered
SELECT id FROM prompt WHERE session = %(session)s AND state = 'accepted' AND mode = 'steer' ORDER BY accepted

-- name: untaken
SELECT id FROM prompt WHERE session = %(session)s AND state = 'accepted' ORDER BY accepted

-- name: take
UPDATE prompt SET state = 'taken', turn = %(turn)s, step = %(step)s, taken = %(taken)s WHERE id = %(id)s

-- name: withdraw
UPDATE prompt SET state = 'withdrawn' WHERE id = %(id)s
