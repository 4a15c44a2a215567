"""How batches come: from the daemon, its workers, the job itself or torch's own loader.

Reading order: `look` (before each pass: what is there to read), `job` (all that a daemon is told),
`settings`, `current_job` (what the loader keeps between passes), `connection` (to the daemon) and
`births` (the nursery). One pass: `passes`, `delivery` (asks ahead; a late batch), `assembly` (what
a batch is made of), `collate`, `batch_maker`; it knows its loader as `loader_view`.

If something is missing or wrong: `in_job` (rows read here), `no_daemon` and `torch_workers` (a pass
without one), `torch_inside` (data that is not read row by row), `on_error` (bad rows).
"""
