"""What many nodes decide together: where a row lives, who trains on it, where its bytes come from.

Reading order: `placement` (the home of a row), `trust` (who prepares the same), `worth` (whether to
fetch a row, by what was measured) with `fetching` (memory, another node or storage), `step_parts`
(which rank reads which rows of a step) with `balance` (evening a step out in few transfers),
`drawing` (who draws for jobs that draw jointly); these decide in the daemon, `step_parts` by way of
`assignment` (who trains on which rows of a global batch). Beside them, the simulator and figures of
papers use `populating` (filling memory, before or during the first pass). Nobody uses these yet:
`replicas` (which ranks load at all) and `copies` (what leaves memory first); docs/papers.md says
what of a paper they are.

All of it is a pure function of what every node knows, so nodes agree without talking. Nothing is
sent from here.
"""
