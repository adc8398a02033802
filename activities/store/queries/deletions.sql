-- name: obstacle
-- Why a session cannot be deleted now, if it cannot, and whether it was.
SELECT s.status = 'deleted' AS gone, CASE
    WHEN EXISTS (SELECT FROM turn WHERE turn.session = s.id AND turn.state = 'open')
      OR EXISTS (SELECT FROM work WHERE work.session = s.id AND work.state = 'accepted')
      OR EXISTS (SELECT FROM task WHERE task.session = s.id AND (task.settled_at IS NULL OR task.delivery = 'due'))
      OR EXISTS (SELECT FROM call WHERE call.session = s.id AND call.state IN ('prepared', 'claimed'))
      THEN 'is at work' END AS obstacle
FROM session s WHERE s.id = %(session)s

-- name: lock_project
-- Lock a session's project, so that no session begins in it just now.
SELECT p.host, p.worktree FROM project p JOIN session s ON s.worktree = p.worktree AND s.host IS NOT DISTINCT FROM p.host
WHERE s.id = %(session)s FOR UPDATE OF p

-- name: lock_configs
-- Lock the configurations of a session's turns, so that no turn begins with them just now.
SELECT id FROM turn_config WHERE id IN (SELECT turn_config FROM turn WHERE session = %(session)s) ORDER BY id FOR UPDATE

-- name: remove_files
-- Have the host of a session remove the files of its calls.
INSERT INTO file_removal (call, host) SELECT c.id, s.host FROM call c JOIN session s ON s.id = c.session
WHERE s.id = %(session)s ON CONFLICT (call) DO NOTHING

-- name: removals
-- The calls whose files a host is to remove.
SELECT call FROM file_removal WHERE host IS NOT DISTINCT FROM %(host)s AND call > %(last)s ORDER BY call LIMIT %(limit)s

-- name: removed
-- Their files are removed.
DELETE FROM file_removal WHERE call = ANY(%(calls)s)

-- name: deleted
-- Those of these sessions that are deleted.
SELECT id FROM session WHERE id = ANY(%(sessions)s) AND status = 'deleted'

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

-- name: delete_project
-- Delete a project that has no session any more.
DELETE FROM project p WHERE p.worktree = %(worktree)s AND p.host IS NOT DISTINCT FROM %(host)s
    AND NOT EXISTS (SELECT FROM session s WHERE s.worktree = p.worktree AND s.host IS NOT DISTINCT FROM p.host)

-- name: delete_configs
-- Delete those of these configurations that no turn has any more.
DELETE FROM turn_config c WHERE c.id = ANY(%(ids)s) AND NOT EXISTS (SELECT FROM turn t WHERE t.turn_config = c.id)
