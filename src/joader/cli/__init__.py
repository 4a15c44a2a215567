"""The `joader` command: one file per subcommand, nothing heavy imported before it is needed.

Reading order: `main` (arguments in, a subcommand run, an exit code; examples and completion), with
more parsers in `screens`, and `arguments` (what is wrong with them). The daemon: `up`, `node` (down
and status), `ended` (`status --ended`), `schedule` (who gets how much), `other_daemon` (one of
another version). What runs: `jobs`, `explain`, `top/`, `dashboard`. This machine: `doctor/`,
`bench/`. Data: `datasets`. On a virtual clock: `simulate` (`plot`: what drawing needs). To try it:
`demo/`. What only a clone has: `papers`.

For all commands: `console` (output), `letters` (that a terminal can show), `words` (figures as
people read them), `files` (that they write).
"""
