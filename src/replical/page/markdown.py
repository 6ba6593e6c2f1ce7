"""The little Markdown that instructions need, escaped first: headings, lists, emphasis, code, paragraphs."""

from __future__ import annotations

import html
import re


def to_html(text: str) -> str:
    r"""Turn instructions into HTML; whatever looks like HTML in them is shown as it is written.

    Examples
    --------
    >>> to_html("# Rules\n\n- be *kind*\n- no <b>")
    '<h2>Rules</h2>\n<ul><li>be <em>kind</em></li><li>no &lt;b&gt;</li></ul>'
    """
    blocks = re.split(r"\n\s*\n", html.escape(text.replace("\r\n", "\n")).strip())
    return "\n".join(_block(block.strip()) for block in blocks if block.strip())


def _block(block: str) -> str:
    heading = re.match(r"(#{1,4})\s+(.*)", block)
    if heading and "\n" not in block:
        level = len(heading[1]) + 1
        return f"<h{level}>{_inline(heading[2])}</h{level}>"
    lines = block.split("\n")
    for mark, tag in ((r"[-*]\s+", "ul"), (r"\d+[.)]\s+", "ol")):
        if all(re.match(mark, line) for line in lines):
            points = "".join(f"<li>{_inline(re.sub(mark, '', line, count=1))}</li>" for line in lines)
            return f"<{tag}>{points}</{tag}>"
    return f"<p>{_inline(' '.join(lines))}</p>"


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
