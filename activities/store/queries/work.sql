-- name: accept
-- Accept a work item.
INSERT INTO work (id, session, kind, accepted_seq, author)
VALUES (%(id)s, %(session)s, %(kind)s, %(accepted_seq)s, %(author)s)

-- name: find
-- A work item by its id.
SELECT session, kind FROM work WHERE id = %(id)s

-- name: untaken
-- The untaken work items of a session, or the first of them, in the order of acceptance.
SELECT id, kind FROM work WHERE session = %(session)s AND state = 'accepted' ORDER BY accepted_seq LIMIT %(limit)s::int

-- name: take
-- Take a work item into a turn.
UPDATE work SET state = 'taken', turn = %(turn)s WHERE id = %(id)s

-- name: withdraw
-- Withdraw an untaken work item.
UPDATE work SET state = 'withdrawn' WHERE id = %(id)s
