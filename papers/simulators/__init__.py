"""Small simulators for figures alone: they run a sampler, a policy or a placement by itself.

Samplers alone: `opportunistic`, `sharing`; one job on many nodes: `many_nodes` with `populating`
(filling memory, before or during the first pass); its ranks on one node: `rank_queues` with
`rank_threads` (Lobster's Algorithm 1); raw beside prepared samples: `two_forms`; workers among
jobs: `shares_over_time`. Not here: the machine that plays engine and schedule (`joader.simulator`).
"""
