"""What a loader reads: rows of a dataset or table, and what a state must agree with.

Reading order: `unwrap` (a dataset as rows of a base, and what keeps it from being shared), with
`kinds` (what kind it is); `tables` (one of the catalog), with `joined_columns` and `joined_table`;
`ground` (what overlapping datasets have in common), `identity` (what a state must agree with),
`description` (for `joader explain`), `learned` (what earlier loaders have found out of datasets
alike).
"""
