"""What a training script sees: its loader, and what the loader knows about its dataset.

Reading order: `loader` (the face), `arguments` (checked once), then what it is made of: `dataset/`
(what is read), `order/` (what comes next), `reading/` (how batches come).

Beside it: `torch_api` (what comes from torch), `ranks` (which rank this process is), `script` (what
it runs), `counts` (what was yielded), `device_prefetcher` (batches on their way to a GPU),
`farewell` (the last line), `watcher` (a channel for commands and screens, which only ask).
"""
