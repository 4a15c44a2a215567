"""A whole machine on a virtual clock: storage, processors, GPUs, workers, jobs.

The engine and the schedule that decide here are those of the daemon, told and obeyed as the daemon
does it; only what takes time is modeled. Reading order: `clock`, `resource` (what several use at
once) and `disk`, `workload` (what is simulated), `drawn` (a workload at random), `worker`,
`trainer`, `node` (the daemon's part), `neighbors` (what a node asks of others) and `guests` (what
others ask of it), `play` (all of it, and what came out).
"""
