-- Answers of calls that were claimed already, and of those that are over: 0005 has filled those of prepared calls only.
UPDATE ask a SET answer_seq = e.seq
FROM event e
WHERE a.state = 'answered' AND a.answer_seq IS NULL
  AND e.session = a.session AND e.type = 'ask.answered' AND position(convert_to(a.id, 'UTF8') IN e.canonical) > 0;
