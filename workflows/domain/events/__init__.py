"""Events: what happens to a session, in order.

They form the hash chain and hold ids, decisions and digests. Large or personal content has its own table; the event
holds its salted hash (`seal`).
"""
