-- name: of_prompt
-- The calls that a prompt has asked for, with their outcomes.
SELECT ordered_part, state, outcome FROM call WHERE ordered_by = %(prompt)s
