"""Carries out the engine's instructions: clients, workers, and the life of the process.

Reading order: `daemon` (messages to events, instructions to messages), `reception` (who is let in),
with `door` and `handshake`, `session` (one client), `registration` (which jobs are here), `layouts`
(how samples lie in their slots), `reports` (figures and answers), `drain` (how it ends); then the
process: `lifecycle` (find it, start it), with `start_lock` and `detach`, `main` (its start), with
`machine` (memory and cores) and `log_size`. The daemon runs no code of users.
"""
