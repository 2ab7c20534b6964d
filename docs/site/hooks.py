"""What mkdocs does not know of this tree: the README is the first page, `make docs` has written the references, and
links that leave docs/ lead to copies of the files."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "build" / "reference"
#: Files at the root of the project → the pages that they become.
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}
#: What a browser loads by itself, when it is on another host.
LOADED = re.compile(
    r"<(?:script|link rel=\"(?:stylesheet|preconnect|icon)\"|img|iframe)[^>]* (?:src|href)=\"((?:https?:)?//[^\"]+)"
)
LINK = re.compile(r"\[((?:[^][]|\[[^]]*\])*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    if not REFERENCE.is_dir():
        raise PluginError("the pages of the references are not there: build the site with `make docs`")
    python, go = (sorted(path.name for path in (REFERENCE / kind).glob("*.md")) for kind in ("python", "go"))
    config.nav = [
        {"Eagle Ray": "index.md"},
        *config.nav,
        {"Python reference": [{name.removesuffix(".md"): f"python/{name}"} for name in python]},
        {"Go reference": [{name.removesuffix(".md").replace(".", "/"): f"go/{name}"} for name in go]},
        {"Changes": "changes.md"},
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    for path in sorted(REFERENCE.glob("*/*.md")):
        files.append(File.generated(config, path.relative_to(REFERENCE).as_posix(), abs_src_path=str(path)))
    texts = {
        f"docs/{file.src_uri}": Path(file.abs_src_path).read_text()
        for file in files.documentation_pages()
        if not file.generated_by
    }
    for source, target in PAGES.items():
        texts[source] = (ROOT / source).read_text()
        files.append(File.generated(config, target, content=spaced(moved(texts[source], source))))
    for source, text in texts.items():
        for match in LINK.finditer(text):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
            name = in_site(path)
            if (
                name is not None
                and name.startswith("_files/")
                and name not in files.src_uris
                and (ROOT / path).is_file()
            ):
                files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return markdown if page.file.generated_by else spaced(moved(markdown, f"docs/{page.file.src_uri}"))


def on_post_build(config: Any) -> None:
    """Fails when a page loads anything from another host."""
    for page in Path(config.site_dir).rglob("*.html"):
        found = LOADED.search(page.read_text(encoding="utf-8"))
        if found is not None:
            raise PluginError(f"{page.name} loads {found[1]}: the site needs no network")


def in_site(path: str) -> str | None:
    """Returns where the site has a file of the project; None for a folder, which the site does not have.

    Go takes no folder whose name begins with an underscore for a package.
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return None if (ROOT / path).is_dir() else f"_files/{path}"


def spaced(text: str) -> str:
    """Returns a text with an empty line before each list and table and after each comment: GitHub needs none there."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        before = lines[-1] if lines else ""
        begins = re.match(r"- |\d+\. |\|", line) and not re.match(r"- |\d+\. |\|| ", before)
        if before and not code and (begins or before.startswith("<!--")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def moved(text: str, source: str) -> str:
    """Returns a page's text with its links as the site needs them; of a link to a folder only the words stay."""

    def change(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        name = in_site(path)
        return match[1] if name is None else f"[{match[1]}]({name}{match[3] or ''})"

    return LINK.sub(change, text)
