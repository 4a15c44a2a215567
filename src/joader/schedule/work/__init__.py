"""Who is here and who works on what: workers, rows to prepare, and what their reports mean.

Reading order: `actions` (what can be decided), `orders` (one row of work), `crew` (the workers that
one loader brings), `accounts` (what each job has had, and may have), `claims` (what waits, and
whose turn it is), `staff` (who is here and who has what), `turns` (who asks next), `flow` (who may
run where), `reports` and `watch` (what follows from reports and from time), `blame` (who pays for a
slow or dead worker), `whereabouts` (for people).
"""
