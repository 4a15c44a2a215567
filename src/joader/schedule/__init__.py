"""Who gets what: decisions about time, workers and memory, as values in and values out.

Reading order: `pace` (how fast a job reads, how long a row takes), `turns` (who asks next),
`shares` (who is owed memory), `orders` (one row of work), `claims` (what waits, and whose turn it
is), `crew` (the workers that one loader brings, and what each has in hand), `blame` (who pays for a
slow or dead worker), `actions` (what can be decided), `staff` (who is here and who has what),
`stages` (rows that wait, and how many at once: `storage_knee`, `climb`), `homes` and `flow` (who
may run where), `feeding` (which worker gets which rows), `reports` and `watch` (what follows from
reports and from time), `dispatch` (all of it), `whereabouts` (in words). The engine brings the
figures that they decide by: `Reader.lasts_s`, `Reader.holding`.

`policies` say how much of all workers each job gets: a new one is a file there. `nodes` is what
many machines decide together.
"""
