"""Pages of the site that are not files in docs/: the start page, the changelog, the gallery. MkDocs calls `on_files`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(Path(__file__).parent))
import gallery  # noqa: E402  it stands beside this file

OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
PLAIN = ("LICENSE", "CITATION.cff")  # files that a page links to, and the site has as they are


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and what they show."""
    for name, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=inside((ROOT / name).read_text("utf-8"))))
    for name in PLAIN:
        files.append(File.generated(config, f"{name}.txt", content=(ROOT / name).read_text("utf-8")))
    text, pictures = gallery.page()
    files.append(File.generated(config, "gallery.md", content=text))
    for name, data in pictures.items():
        files.append(File.generated(config, f"pictures/{name}", content=data))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page of docs/ with links to what the site has elsewhere."""
    return re.sub(r"\]\(\.\./([A-Z]+\.md)", lambda m: f"]({OUTSIDE[m[1]]}", markdown)


def inside(text: str) -> str:
    """Return a page from the root of the checkout with links as they are seen from docs/."""
    text = re.sub(r"\]\(docs/", "](", text)
    text = re.sub(r"\]\(examples/(\w+)\.py\)", lambda m: f"](gallery.md#{m[1]})", text)
    text = re.sub(r"\]\(([A-Z]+\.md)", lambda m: f"]({OUTSIDE[m[1]]}", text)
    return re.sub(rf"\]\(({'|'.join(map(re.escape, PLAIN))})\)", r"](\1.txt)", text)
