"""Markdown of models as HTML that cannot do anything: emphasis, code, lists, quotations, tables and headings.

Links, images, HTML and entities are no part of this subset, so they stay the text that they are. Every stretch of text
is escaped, and its invisible characters are shown by their codes, as everywhere on the pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from sonde._util.escaping import split_invisible

from .templating import LIMIT, cut_text, template_environment

LONGEST = 20_000
"""Maximum characters of a message that is parsed: parsing hostile text may take a time quadratic in its length."""
_RULES = ("fence", "list", "blockquote", "heading", "table", "hr", "emphasis", "backticks", "newline")
_PLAIN = {"paragraph_open", "paragraph_close", "inline", "text", "softbreak", "hardbreak"}
"""Tokens that look the same as the text without Markdown."""


def render_markdown(text: str, limit: int = LIMIT) -> Markup:
    """`text` as HTML, cut in its middle if it is longer than `limit`; empty if it has no Markdown or is very long.

    >>> render_markdown("**a** <b>")
    Markup('<p><strong>a</strong> &lt;b&gt;</p>\\n')
    """
    found: list[str] = []
    marked, parser = False, _make_parser()
    for part in cut_text(text, limit):
        tokens = parser.parse(part.text) if not part.code and len(part.text) <= LONGEST else []
        marked = marked or _has_markup(tokens)
        found.append(parser.renderer.render(tokens, parser.options, {}) if tokens else _escape_text(part.text))
    return Markup("".join(found) if marked else "")


def _has_markup(tokens: Sequence[Any]) -> bool:
    return any(token.type not in _PLAIN or _has_markup(token.children or ()) for token in tokens)


def _escape_text(text: str) -> str:
    # Not Markup, which would escape the tags that the renderer adds to it.
    return str(template_environment().get_template("parts.html.j2").module.words(split_invisible(text)))


@cache
def _make_parser() -> Any:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML

    class Renderer(RendererHTML):
        """Escapes all text in our way; headings are paragraphs, because the page has its own outline."""

        def text(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return _escape_text(tokens[idx].content)

        def code_inline(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return f"<code>{_escape_text(tokens[idx].content)}</code>"

        def fence(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return f"<pre>{_escape_text(tokens[idx].content)}</pre>\n"

        def softbreak(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return "<br>\n"

        def heading_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return '<p class="heading">'

        def heading_close(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return "</p>\n"

    parser = MarkdownIt("zero", renderer_cls=Renderer).enable(list(_RULES))
    parser.core.ruler.disable("normalize")  # which would hide a null character
    return parser
