"""Figures of the four papers, one per file; what they share lies beside them.

Machines: `titan_server` (JOADER), `adloader_machine`, `lobster_node`, `lassen` (locality). Besides:
`joader_counts` (what the engine prepares), `fewest_transfers` (an optimum, by brute force). Figures
run the code that serves jobs: samplers, engine, cache and schedule. Rates that a paper does not
give are fitted to its *baselines* where it prints any, and printed as notes; then its own column is
predicted. docs/papers.md says what agrees.
"""
