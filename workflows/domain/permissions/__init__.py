"""Rules, wildcards, requests, grants: what may run without asking."""
