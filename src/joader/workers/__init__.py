"""Worker processes: how they are born, what they do, and the daemon's view of them.

In the job: `nursery` (one process that forks workers), `loop` (the loop of one worker), `complaint`
(what user code raised, in words), `desk` (a page that says what a worker is at), `forks` (what
forked processes must not keep). In the daemon:
`pool` (carries out what `schedule/` decides), `hand` (one worker), `link` (one nursery).
"""
