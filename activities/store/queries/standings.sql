-- name: now
SELECT (SELECT count(*) FROM ask WHERE state = 'open') AS asks,
       (SELECT coalesce(extract(epoch FROM now() - min(asked_at)), 0)::float8 FROM ask WHERE state = 'open') AS oldest,
       (SELECT count(*) FROM turn WHERE state = 'open') AS turns,
       (SELECT count(*) FROM prompt WHERE state = 'accepted') AS prompts,
       (SELECT count(*) FROM park WHERE state = 'open') AS parked,
       (SELECT count(*) FROM session WHERE stuck IS NOT NULL) AS stuck
