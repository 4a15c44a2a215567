"""What many nodes decide together: where a row lives, who trains on it, where its bytes come from.

Reading order: `placement` (the home of a row), `replicas` (which ranks load at all), `balance`
(evening out a step in few transfers), `assignment` (who trains on which rows of a global batch),
`step_parts` (the same for ranks that train one model),
`populating` (filling memory, before or during the first pass), `fetching` (memory, another node or
storage), `copies` (what leaves memory first). All of it is a pure function of what every node
knows, so nodes agree without talking. Nothing is sent from here.
"""
