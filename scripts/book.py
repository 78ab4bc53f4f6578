"""A preprocessor of mdBook: the book is docs/, and some pages of it are files of the repository.

- A page that says only "This page of the book is [NAME](FILE)." becomes that file.
- A link to such a file leads to its page.
- A link to any other file outside of docs/ becomes the file's path, because a site that was built
  to be read without the repository does not have it.

A link to what does not exist ends the build.
"""

import json
import re
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).resolve().parents[1]
STUB = re.compile(r"# .*\n\nThis page of the book is \[[^\]]*\]\(([^)]*)\)\.\n")
FENCED = re.compile(r"(^```.*?^```$|`[^`\n]*`(?!\]))", re.M | re.S)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def stubs():
    """The page of each file that is one, both by their paths in the repository."""
    pages = {}
    for page in (ROOT / "docs").rglob("*.md"):
        found = STUB.fullmatch(page.read_text())
        if found:
            name = str(page.relative_to(ROOT))
            pages[normpath(f"{PurePosixPath(name).parent}/{found[1]}")] = name
    return pages


def chapters(items):
    for item in items:
        if "Chapter" in item:
            yield item["Chapter"]
            yield from chapters(item["Chapter"]["sub_items"])


def rewritten(text, source, page, pages):
    """The text of the file `source`, with links that hold on the page `page`."""

    def link(found):
        words, (target, _, place) = found[1], found[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = normpath(f"{PurePosixPath(source).parent}/{target}")
        if not (ROOT / path).exists():
            sys.exit(f"{source}: there is no {path}")
        path = pages.get(path, path)
        if path.startswith("docs/"):
            to = relpath(path, PurePosixPath(page).parent)
            return f"[{words}]({to}{'#' + place if place else ''})"
        return words if path in words else f"{words} (`{path}`)"

    def picture(found):
        path = normpath(f"{PurePosixPath(source).parent}/{found[2]}")
        return f"![{found[1]}]({relpath(path, PurePosixPath(page).parent)})"

    parts = FENCED.split(text)
    for place in range(0, len(parts), 2):
        plain = re.sub(r"!\[([^\]]*)\]\(([^()\s:]+)\)", picture, parts[place])
        parts[place] = LINK.sub(link, plain)
    return "".join(parts)


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2] == "html" else 1)
    _, book = json.load(sys.stdin)
    pages = stubs()
    files = {page: file for file, page in pages.items()}
    for chapter in chapters(book.get("items", book.get("sections"))):
        page = f"docs/{chapter['path']}"
        source = files.get(page, page)
        text = (ROOT / source).read_text() if source != page else chapter["content"]
        chapter["content"] = rewritten(text, source, page, pages)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
