#!/usr/bin/env python3
"""Fails if a relative link or an anchor of the documentation leads nowhere.

Reads README.md, ARCHITECTURE.md, CONTRIBUTING.md, SECURITY.md, packaging/README.md and everything below docs/.
Anchors are those that GitHub makes of headings. Addresses on the network are not followed.
"""

import re
import sys
from pathlib import Path
from unicodedata import category
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "packaging/README.md")

# What is kept of a heading besides hyphens and spaces: letters, marks, decimal digits, connectors.
WORD = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Pc"}

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)?)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)


def main():
    pages = [ROOT / name for name in PAGES if (ROOT / name).exists()] + sorted((ROOT / "docs").rglob("*.md"))
    anchors = {page: anchors_of(page) for page in pages}
    broken, checked = [], 0
    for page in pages:
        for line, link in links_of(page):
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", link):
                continue
            checked += 1
            fault = follow(page, link, anchors)
            if fault:
                broken.append(f"{page.relative_to(ROOT)}:{line}: {link}: {fault}")
    if broken:
        sys.exit("\n".join(broken))
    print(f"{checked} links in {len(pages)} pages lead somewhere")


def follow(page, link, anchors):
    """What is wrong with a link, or nothing."""
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path)).resolve() if path else page
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if not target.exists():
        return "there is no such file"
    if anchor and target.suffix == ".md":
        known = anchors.get(target) or anchors_of(target)
        if unquote(anchor) not in known:
            return "there is no such heading"
    return None


def links_of(page):
    """Each link and its line, those in code left out."""
    text = page.read_text(encoding="utf-8")
    # What is blanked keeps its length, so that lines stay where they are.
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())

    # A link's text may be code, so only code outside of brackets is blanked.
    text = FENCE.sub(blank, text)
    text = CODE.sub(lambda found: blank(found) if "](" in found.group() else found.group(), text)
    for pattern in (LINK, DEFINITION):
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, found.group(1)


def anchors_of(page):
    """The anchors of a page's headings; equal ones are numbered."""
    seen, anchors = {}, set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        slug = slug_of(heading)
        times = seen.get(slug, 0)
        seen[slug] = times + 1
        anchors.add(f"{slug}-{times}" if times else slug)
    return anchors


def slug_of(heading):
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    kept = (letter for letter in shown.strip().lower() if letter in "- " or category(letter) in WORD)
    return "".join(kept).replace(" ", "-")


if __name__ == "__main__":
    main()
