"""What comes next: drawn by the daemon or given by a sampler, and what was yielded of it.

Reading order: `ordering` (who says what comes next), `source` (one pass of it), `progress` (what
was yielded), `epochs` (which pass is next). A sampler's order: `sampler_order`; the samplers that a
loader shows: `samplers`.
"""
