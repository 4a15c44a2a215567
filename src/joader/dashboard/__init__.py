"""What a browser and a monitoring system see of a daemon, served by a process of its own.

Invariant: nothing here runs in the daemon. One task asks it once a second over its socket, however
many pages are open, and only while one is. So the worst that a page can do is stall this process.

Reading order: `main` (the process), `app` (what it serves), `visitor` (a connection to it), `feed`
(what it asks), `machine` (what else keeps this machine busy), `metrics` (for Prometheus), `place`
(where it is found).
"""
