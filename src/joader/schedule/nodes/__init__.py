"""What many nodes decide together: where a row lives, who trains on it, where its bytes come from.

Reading order: `placement` (the home of a row), `trust` (who prepares the same), `worth` (whether to
fetch a row, by what was measured: memory, another node or storage), `step_parts` (which rank reads
which rows of a step) with `balance` (evening a step out in few transfers), `drawing` (who draws for
jobs that draw jointly); these decide in the daemon. Who trains on which rows of a global batch:
`assignment`, of `step_parts` and of figures. Nobody uses `replicas` yet (which ranks load at all).

All of it is a pure function of what every node knows, so nodes agree without talking. Nothing is
sent from here.
"""
