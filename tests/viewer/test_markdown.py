"""Markdown of models: what it becomes, and that nothing hostile becomes HTML."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.viewer.markdown import LONGEST, render_markdown

from .conftest import HOSTILE
from .test_attack_browser import PAYLOADS

TAGS = {"p", "br", "hr", "strong", "em", "code", "pre", "ul", "ol", "li", "blockquote", "span"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
STYLES = {"text-align:left", "text-align:right", "text-align:center"}


class Reader(HTMLParser):
    """Reads HTML as a browser does: its tags with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")


def check_harmless(html: str) -> None:
    for tag, attributes in Reader(html).tags:
        assert tag in TAGS, tag
        for name, value in attributes.items():
            assert (
                (tag == "span" and (name, value) == ("class", "code"))
                or (tag == "span" and name == "title")
                or (tag == "p" and (name, value) == ("class", "heading"))
                or (tag == "ol" and name == "start" and (value or "").isdigit())
                or (tag in ("th", "td") and name == "style" and value in STYLES)
            ), (tag, name, value)


@pytest.mark.parametrize(("text", "html"), [
    ("**a** *b* `c<d`", "<p><strong>a</strong> <em>b</em> <code>c&lt;d</code></p>"),
    ("# A\nb\nc", '<p class="heading">A</p>\n<p>b<br>\nc</p>'),
    ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
    ("```html\n<b>\n```", "<pre>&lt;b&gt;\n</pre>"),
    ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
    ("**a**\u202e\x00", '<p><strong>a</strong><span class="code" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>'
     '<span class="code" title="a character without a name">U+0000</span></p>'),
])  # fmt: skip
def test_markdown_becomes_html(text: str, html: str) -> None:
    assert render_markdown(text).strip() == html


def test_text_without_markdown_stays_as_it_is() -> None:
    for text in ("", "plain", "a\nb", "<Answer>crane</Answer>", "[x](http://a.b) ![y](http://a.b/c.png) <http://a.b>"):
        assert render_markdown(text) == ""


@pytest.mark.parametrize("text", [*HOSTILE, *PAYLOADS])
@pytest.mark.parametrize(
    "around", ["**{}**", "`{}`", "# {}", "- {}", "> {}", "```{}\n{}\n```", "|{}|\n|:-:|\n|{}|", "**a** {}"]
)
def test_nothing_hostile_becomes_html(text: str, around: str) -> None:
    html = render_markdown(around.replace("{}", text), 100_000)
    check_harmless(html)
    assert not set("\u202e\u2066\x00\x1b") & set(html)


@given(st.text("*_`#>-|:<&\"'[]()!\\~ \n\tab01\x00\u202e", max_size=80))
def test_whatever_is_written_no_tag_but_ours_is_made_and_no_word_is_lost(text: str) -> None:
    html = render_markdown(text)
    check_harmless(html)
    if html and "```" not in text and "~~~" not in text:  # what follows a fence is its language, which is not shown
        words = [c for c in text if c in "ab01" and c.isalpha()]
        seen = Reader(html.replace("U+0000", "").replace("U+202E", "")).text
        assert [c for c in seen if c in "ab"] == words


def test_a_long_message_is_cut_and_a_very_long_one_is_not_parsed() -> None:
    html = render_markdown("**a** " * 1000, 2000)
    assert "4,000 more characters" in html and html.count("<strong>") > 300
    assert render_markdown("**a** " * LONGEST, 10 * LONGEST) == ""
    for hostile in ("_a", "[", "*a", "> ", "`` `"):
        begun = time.process_time()
        render_markdown((hostile * LONGEST)[:LONGEST], LONGEST)
        assert time.process_time() - begun < 5
