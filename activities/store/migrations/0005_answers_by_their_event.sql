ALTER TABLE ask
    ADD COLUMN answer_seq bigint;                       -- the event that says how it was answered: the row alone proves nothing

-- Answers whose calls have not run yet go on to hold.
UPDATE ask a SET answer_seq = e.seq
FROM call c, event e
WHERE a.state = 'answered' AND c.id = a.call AND c.state = 'prepared'
  AND e.session = a.session AND e.type = 'ask.answered' AND position(convert_to(a.id, 'UTF8') IN e.canonical) > 0;
