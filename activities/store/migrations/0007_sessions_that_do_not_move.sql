-- Each event writes to its session's row: where no index names what changes, and its page has room, that is cheap.
DROP INDEX session_updated;
ALTER TABLE session SET (fillfactor = 70);

CREATE INDEX session_stuck ON session (id) WHERE stuck IS NOT NULL;

-- What nobody has to be told of any more: answers of turns that are over, and stops that named no turn.
UPDATE ask SET delivered_at = settled_at FROM turn t
WHERE t.id = ask.turn AND t.state = 'ended' AND ask.state = 'answered' AND ask.delivered_at IS NULL;
UPDATE stop SET delivered_at = accepted_at WHERE turn IS NULL AND delivered_at IS NULL;
