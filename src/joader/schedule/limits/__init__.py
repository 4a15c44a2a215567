"""How many at once, from how fast things were: rows in flight, rows computing.

Reading order: `rate`, `pace` (jobs and rows), `crowd` (others on the processors), `knee` and
`storage_knee` (where more gives no more; the latter is found by trying).
"""
