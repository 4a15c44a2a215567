"""Carries the engine's instructions out: sessions, the pool of workers, the life of it all.

Reading order: `session` (one client), `daemon` (messages to events, instructions to messages),
`lifecycle` (start, find, end), with `start_lock` and `detach`, `main` (the process). The daemon
runs no code of users.
"""
