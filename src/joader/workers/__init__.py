"""Worker processes: how they are born, what they do, and the daemon's view of them.

Reading order, in the job: `nursery` (one process that forks workers), `loop` (what one worker does:
rows in two parts, raw forms, comparisons), `outbox` (what it reports), `complaint` (what user code
raised, in words), `desk` (a page that says what it works on), `clock` (how it spent its time),
`forks` (what forked processes must not keep). In the daemon: `pool` (carries out what `schedule/`
decides), `hand` (one worker), `link` (one nursery).
"""
