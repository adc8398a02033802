-- name: count
-- Count a refusal. The first twenty callers of a session have a row each, all others one.
INSERT INTO refusal AS counted (session, reason, caller)
SELECT s.id, %(reason)s, CASE WHEN (SELECT count(*) FROM refusal r WHERE r.session = s.id AND r.reason = %(reason)s
                                    AND r.caller <> %(caller)s) < 20 THEN %(caller)s ELSE %(others)s END
FROM session s WHERE s.id = %(session)s AND s.archive IS NULL
ON CONFLICT (session, reason, caller) DO UPDATE SET times = counted.times + 1
RETURNING caller, times
