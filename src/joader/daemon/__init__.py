"""Carries out the engine's instructions: clients, workers, and the life of the process.

Reading order: `daemon` (messages to events, instructions to messages; memory ahead of time; how it
ends), `session` (one client), `registration` (which jobs are here), `layouts` (how samples lie in
their slots). How clients get in: `reception` (handshakes), with `door`. What people see: `reports`
(figures and answers), `names` (what jobs are called), `history` (second by second).

The process: `lifecycle` (find it, start it), with `start_lock` and `detach`; `main` (its start, its
event loop, its log and its summary), with `machine` (memory and cores) and `log_format`. From one
daemon to the next: `experience_file`, with `fingerprint` (which machine).

Other nodes: `neighbors` (which there are; `alone` if none), `links` to them, `fetching` (rows from
them), `guests` (rows for them), `where` (rows live), `holdings` (which node had them before) and
`clocks` (how far others have read), `leaving` and `heirs` (what a node that leaves hands over, and
to which), `traffic`; `joining` puts them together. Ranks of one job on several nodes: `ranks`,
`rank_host` (their team, at the node of rank 0), `rank_relay` (one of them, at its node). Jobs that
draw jointly on several nodes: `joint` (which node draws for them), `joint_job` (one of them, at its
node), `joint_guest` (at the node that draws). Both speak over `lines`.

The daemon runs no user code.
"""
