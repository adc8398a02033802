-- name: prepare
INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, arguments, salt, recovery, plan,
                  digest, loop)
VALUES (%(id)s, %(session)s, %(turn)s, %(step)s, %(position)s, %(message)s, %(provider_id)s, %(tool)s,
        %(arguments)s, %(salt)s, %(recovery)s, %(plan)s, %(digest)s, %(loop)s)

-- name: of_step
SELECT * FROM call WHERE turn = %(turn)s AND step = %(step)s ORDER BY position

-- name: shown
SELECT id, message, position, provider_id, tool, arguments, state, outcome FROM call WHERE session = %(session)s

-- name: unsettled
SELECT * FROM call WHERE turn = %(turn)s AND state IN ('prepared', 'claimed') ORDER BY step, position FOR UPDATE

-- name: get
SELECT c.*, s.directory, s.environment, t.snapshot
FROM call c JOIN session s ON s.id = c.session JOIN turn t ON t.id = c.turn WHERE c.id = %(call)s

-- name: lock
SELECT * FROM call WHERE id = %(call)s AND session = %(session)s FOR UPDATE

-- name: recent_loops
SELECT loop FROM call WHERE turn = %(turn)s AND step < %(step)s ORDER BY step DESC, position DESC LIMIT 2

-- name: any_rejected
SELECT EXISTS (SELECT 1 FROM ask WHERE turn = %(turn)s AND state = 'answered' AND reply = 'reject'
               AND feedback IS NULL) AS rejected

-- name: claim
UPDATE call SET state = 'claimed', fence = %(fence)s, machine = %(machine)s, decision = %(decision)s,
                claimed_at = now()
WHERE id = %(call)s

-- name: reclaim
UPDATE call SET fence = %(fence)s WHERE id = %(call)s

-- name: drift
UPDATE call SET plan = %(plan)s, digest = %(digest)s, revision = revision + 1 WHERE id = %(call)s

-- name: settle
UPDATE call SET state = %(state)s, outcome = %(outcome)s, outcome_salt = %(salt)s, settled_at = now()
WHERE id = %(call)s

-- name: fence
SELECT c.state, c.fence, s.chain FROM call c JOIN session s ON s.id = c.session WHERE c.id = %(call)s

-- name: keep_todos
INSERT INTO todo (session, items) VALUES (%(session)s, %(items)s)
ON CONFLICT (session) DO UPDATE SET items = excluded.items

-- name: claimed
SELECT id FROM call WHERE state = 'claimed'

