-- name: obstacle
-- Why a session cannot be deleted now, if it cannot, and whether it was.
SELECT s.status = 'deleted' AS gone, CASE
    WHEN EXISTS (SELECT FROM turn WHERE turn.session = s.id AND turn.state = 'open')
      OR EXISTS (SELECT FROM work WHERE work.session = s.id AND work.state = 'accepted')
      OR EXISTS (SELECT FROM task WHERE task.session = s.id AND task.settled_at IS NULL)
      OR EXISTS (SELECT FROM call WHERE call.session = s.id AND call.state IN ('prepared', 'claimed'))
      THEN 'is at work' END AS obstacle
FROM session s WHERE s.id = %(session)s

-- name: calls
-- The calls of a session, whose files are removed with it.
SELECT id FROM call WHERE session = %(session)s

-- name: delete_tasks
-- Delete what its parent's calls have handed to a session.
DELETE FROM task WHERE child = %(session)s

-- name: delete_deltas
-- Delete the deltas of a session.
DELETE FROM delta WHERE session = %(session)s

-- name: erase
-- Erase what a session's row says, and mark it as deleted.
UPDATE session SET status = 'deleted', title = '', default_title = NULL, directory = '', worktree = NULL,
                   environment = '{}', rules = '[]', model = NULL, variant = NULL, directory_identity = NULL,
                   sources = NULL, suspension = NULL, stuck = NULL
WHERE id = %(session)s

-- name: delete_projects
-- Delete the projects that have no session any more.
DELETE FROM project p WHERE NOT EXISTS (SELECT FROM session s
                                        WHERE s.worktree = p.worktree AND s.host IS NOT DISTINCT FROM p.host)
