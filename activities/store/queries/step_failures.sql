-- name: of_session
-- The events of a session about providers that have failed, in order.
SELECT canonical FROM event WHERE session = %(session)s AND type = 'model.retry' ORDER BY seq

-- name: messages
-- Messages of providers.
SELECT id, body FROM note WHERE id = ANY(%(ids)s)
