"""What is done to a row: its shared and own parts, its randomness, and the name that identifies it.

Reading order: `parts` (shared and own, as workers run them), `randomness` (seeds), `fingerprint/`
(the name), `place` (where code runs), `watch` (whether workers should read it at all), `glance`
(what a loop changes in a dataset during a pass).

Not here: running it (workers), storing its results (memory).
"""
