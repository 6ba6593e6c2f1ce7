"""The little Markdown that instructions need, escaped first: headings, lists, emphasis, code, links, paragraphs."""

from __future__ import annotations

import html
import re

_LISTS = {"ul": re.compile(r"[-*+]\s+"), "ol": re.compile(r"\d+[.)]\s+")}
_HEADING = re.compile(r"(#{1,4})\s+")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^\s()]+)\)")
_LINK = re.compile(r"https?://|[^:]*$", re.IGNORECASE)  # of any other scheme nothing is made


def to_html(text: str) -> str:
    r"""Turn instructions into HTML; whatever looks like HTML in them is shown as it is written.

    Examples
    --------
    >>> to_html("# Rules\n\n- be *kind*\n- no <b>")
    '<h2>Rules</h2>\n<ul><li>be <em>kind</em></li><li>no &lt;b&gt;</li></ul>'
    """
    blocks: list[tuple[str, list[str]]] = []
    apart = True
    for line in html.escape(text).splitlines():
        words = line.strip()
        if not words:
            apart = True
        elif heading := _HEADING.match(words):
            blocks.append((f"h{len(heading[1]) + 1}", [words[heading.end() :]]))
            apart = True
        elif tag := next((tag for tag, mark in _LISTS.items() if mark.match(words)), None):
            if not blocks or blocks[-1][0] != tag:
                blocks.append((tag, []))
            blocks[-1][1].append(_LISTS[tag].sub("", words, count=1))
            apart = False
        elif apart:
            blocks.append(("p", [words]))
            apart = False
        else:
            blocks[-1][1][-1] += f" {words}"
    return "\n".join(f"<{tag}>{_inside(tag, parts)}</{tag}>" for tag, parts in blocks)


def _inside(tag: str, parts: list[str]) -> str:
    return "".join(f"<li>{_inline(part)}</li>" if tag in _LISTS else _inline(part) for part in parts)


def _inline(text: str) -> str:
    return _INLINE.sub(_marked, text)


def _marked(match: re.Match[str]) -> str:
    code, strong, em, words, link = match.groups()
    if code:
        tag = "kbd" if len(html.unescape(code)) == 1 else "code"  # a single letter is a key to press
        return f"<{tag}>{code}</{tag}>"
    if strong or em:
        return f"<strong>{_inline(strong)}</strong>" if strong else f"<em>{_inline(em)}</em>"
    if not _LINK.match(link):
        return match[0]
    return f'<a href="{link}" target="_blank" rel="noopener noreferrer">{_inline(words)}</a>'
