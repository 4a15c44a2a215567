"""Who gets what: decisions about time, workers and memory, as values in and values out.

Reading order: `dispatch` (all that happens comes in here), `work/` (who is here and who has what),
`feeding` (which worker gets which rows), `stages` (how many rows wait, how many compute), `limits/`
(how many at once), `shares/` (who gets how much). From before: `experience`, `learning`. What
limits a job or the node, in words: `diagnosis`. `nodes/` is what many machines decide together.

The engine brings the figures that they decide by: `Reader.lasts_s`, `Reader.holding`.
"""
