-- name: insert_message
-- Store an answer.
INSERT INTO message (id, session, generation, turn, step, body, agent, model, cost, total, input, output, reasoning,
                     cache_read, cache_write)
VALUES (%(id)s, %(session)s, %(generation)s, %(turn)s, %(step)s, %(body)s, %(agent)s, %(model)s, %(cost)s, %(total)s,
        %(input)s, %(output)s, %(reasoning)s, %(cache_read)s, %(cache_write)s)

-- name: insert_part
-- Store a text or reasoning part of an answer.
INSERT INTO part (id, message, position, kind, body, salt)
VALUES (%(id)s, %(message)s, %(position)s, %(kind)s, %(body)s, %(salt)s)

-- name: bodies
-- The text and reasoning parts of a message.
SELECT body FROM part WHERE message = %(message)s

-- name: before
-- The newest answers of a turn before a step, newest first: whether they have calls, and any of a tool.
SELECT m.body, EXISTS (SELECT FROM call c WHERE c.turn = m.turn AND c.step = m.step) AS called,
       EXISTS (SELECT FROM call c WHERE c.turn = m.turn AND c.step = m.step AND c.tool = %(tool)s) AS has_tool
FROM message m WHERE m.turn = %(turn)s AND m.step < %(step)s ORDER BY m.step DESC LIMIT %(limit)s
