"""Shares: from what jobs need to the part of the workers' time that each gets.

Reading order: `policies/` (a new one is a file there), `demand` (what a job would read), `weight`,
`allocation` (from needs to shares); of memory: `memory`.
"""
