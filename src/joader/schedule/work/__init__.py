"""Workers and their work: rows to prepare, which worker has them, and what reports mean.

Reading order: `actions` (what can be decided), `orders` (one row of work), `crew` (the workers that
one loader brings), `accounts` (what each claimant has had, and may have), `claims` (what waits, and
which claimant has the next turn), `staff` (which crews are here, and which worker has what),
`turns` (which job asks next), `flow` (which workers may run where), `reports` and `watch` (what
follows from reports and from time), `blame` (which row pays for a slow or dead worker),
`whereabouts` (where a sample is, in words).
"""
