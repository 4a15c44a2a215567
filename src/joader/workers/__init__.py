"""Worker processes: how they are started, what they do, and how the daemon sees them.

Reading order, in the job: `nursery` (one process that forks workers), `loop` (what one worker does,
also with rows as they are stored, with its scratch memory, and when it compares its rows with those
of other workers), `outbox` (what it reports), `complaint` (what user code raised, in words), `desk`
(a page that says what it works on), `clock` (how it spent its time), `forks` (what forked processes
must not keep). In the daemon: `pool` (carries out what `schedule/` decides), `hand` (one worker),
`link` (one nursery).
"""
