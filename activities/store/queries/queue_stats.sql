-- name: read
-- How much waits: for people, for workers, and for repair.
SELECT (SELECT count(*) FROM ask WHERE state = 'open') AS asks,
       (SELECT coalesce(extract(epoch FROM now() - min(asked_at)), 0)::float8
        FROM ask WHERE state = 'open') AS oldest_ask_seconds,
       (SELECT count(*) FROM turn WHERE state = 'open') AS turns,
       (SELECT count(*) FROM work WHERE state = 'accepted' AND kind = 'prompt') AS prompts,
       (SELECT count(*) FROM suspension WHERE state = 'open') AS suspended,
       (SELECT count(*) FROM session WHERE stuck IS NOT NULL) AS stuck
