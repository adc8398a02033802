-- name: add
-- Record the project of a new session. Its id changes when it becomes a repository.
INSERT INTO project (host, worktree, vcs) VALUES (%(host)s, %(worktree)s, %(vcs)s)
ON CONFLICT (host, worktree) DO UPDATE SET vcs = excluded.vcs, id = NULL WHERE project.vcs IS DISTINCT FROM excluded.vcs

-- name: list
-- The projects, with the number of their sessions that people started and the newest change, the last changed first.
SELECT p.host, p.worktree, p.vcs, p.id, p.created_at, count(h.session) AS sessions,
       coalesce(max(h.updated_at), p.created_at) AS updated_at
FROM project p
LEFT JOIN session s ON s.worktree = p.worktree AND s.host IS NOT DISTINCT FROM p.host AND s.parent IS NULL
LEFT JOIN session_head h ON h.session = s.id
GROUP BY p.host, p.worktree, p.vcs, p.id, p.created_at ORDER BY updated_at DESC, p.worktree

-- name: set_id
-- Keep the id of a project that was without one.
UPDATE project SET id = %(id)s WHERE host IS NOT DISTINCT FROM %(host)s AND worktree = %(worktree)s AND id IS NULL
