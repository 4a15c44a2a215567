"""Who gets what: decisions about time, workers and memory, as values in and values out.

Reading order: `dispatch` (all that happens comes in here), `actions` (what can be decided),
`orders` (one row of work), `claims` (what waits, and whose turn it is), `crew` (the workers that
one loader brings), `staff` (who is here and who has what), `feeding` (which worker gets which rows;
`homes` and `flow` say who may run where), `reports` and `watch` (what follows from reports and from
time), `blame` (who pays for a slow or dead worker), `whereabouts` (a sample's, in words).

Who gets how much: `policies/` (a new one is a file there), `allocation` (from needs to shares),
with `demand` (what a job would read), `weight`, `accounts` (what each has had) and `quota` (so much
and no more); memory: `shares`; who asks next: `turns`. How fast: `pace` (jobs and rows), `rate`,
`crew_figures`, `crowd` (others on the processors). How many at once: `stages` (rows that wait, rows
that compute), `knee` and `storage_knee` (where more gives no more), `climb` (found by trying). From
before: `experience`, `learning`.

What limits a job or the node, in words: `diagnosis`.

The engine brings the figures that they decide by: `Reader.lasts_s`, `Reader.holding`. `nodes/`
is what many machines decide together.
"""
