"""One HTML page of a node's figures: live from a dashboard, or as a file that can be mailed.

The page is one document without any outside resource. What a daemon says goes into it as text,
never as markup: the figures of a file are JSON in which no tag can end, and the page's code sets
text, not HTML. Not here: who serves it (dashboard), who writes it (daemon, cli).
"""

import secrets
from importlib.resources import files

from joader.statistics import RunStatistics, to_json

# For a file, which nobody serves with headers.
_POLICY = '<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta name="viewport"'


def page() -> tuple[str, str]:
    """Return the live page, and the policy that it is to be served with."""
    nonce = secrets.token_urlsafe(16)
    return _filled(nonce, ""), _policy(nonce) + "; connect-src 'self'; frame-ancestors 'none'"


def summary(run: RunStatistics) -> str:
    """Return a page that holds these figures, as one file."""
    nonce = secrets.token_urlsafe(16)
    # No tag can begin in it, so none can end the element that it is in.
    figures = to_json(run).decode().replace("<", "\\u003c").replace("&", "\\u0026")
    data = f'<script type="application/json" id="run" nonce="{nonce}">{figures}</script>'
    text = _filled(nonce, data)
    return text.replace('<meta name="viewport"', _POLICY.format(policy=_policy(nonce)), 1)


def _policy(nonce: str) -> str:
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _filled(nonce: str, data: str) -> str:
    here = files(__name__)
    parts = {
        "css": here.joinpath("page.css").read_text("utf-8"),
        "js": "".join(here.joinpath(name).read_text("utf-8") for name in ("charts.js", "page.js")),
    }
    text = here.joinpath("page.html").read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    # The figures last: nothing in them is looked at for our own marks.
    return text.replace("{{nonce}}", nonce).replace("{{data}}", data)
