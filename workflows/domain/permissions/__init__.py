"""Rules, wildcards, requests, grants: what may be done without asking."""
