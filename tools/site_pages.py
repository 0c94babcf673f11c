"""The pages of the site that are made from the code: API, commands, gallery of notebooks, results and change log.

mkdocs loads this as a hook (mkdocs.yml). Nothing here is written by hand twice: a public name has its docstring, a
command its help, a notebook its stored output.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from command_reference import command_reference

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "liquidtime"
DIARY = {"log.md", "all-results.md", "changes.md"}
COPIED = {"RESULTS.md": "all-results.md", "CHANGELOG.md": "changes.md"}
OUTSIDE = re.compile(
    r"\]\((?:\.\./)+((?:examples|results|src|tools|benchmarks|tests)/[^)]*|\w+\.md|LICENSE)(#[^)]*)?\)"
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that exist into the navigation, where mkdocs.yml names their folder."""
    for section in config.nav or []:
        for title, pages in section.items():
            if pages == "gallery/":
                section[title] = ["gallery/index.md", *(f"gallery/{path.stem}.md" for path in notebooks())]
            elif isinstance(pages, list):
                for entry in pages:
                    if isinstance(entry, dict) and entry.get("Python") == "api/":
                        entry["Python"] = ["api/index.md", *(f"api/{room}.md" for room in rooms())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the pictures that pages outside docs/ show."""
    pages: dict[str, str | bytes] = {"commands.md": command_reference(), "api/index.md": api_index()}
    pages |= {f"api/{room}.md": api_page(room) for room in rooms()}
    pages |= {target: (ROOT / source).read_text() for source, target in COPIED.items()}
    pages["gallery/index.md"] = gallery_index()
    for path in notebooks():
        pages |= notebook_page(path)
    pages |= {f"figures/{path.name}": path.read_bytes() for path in (ROOT / "results" / "figures").glob("*.*")}
    for uri, content in pages.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links that leave docs/ to the page of the site that shows the same, or show the path where there is none."""
    up = "../" * page.file.src_uri.count("/")
    if page.file.src_uri in DIARY:  # they mention everything, and come last in a search
        page.meta.setdefault("search", {"boost": 0.1})

    def target(match: re.Match[str]) -> str:
        path, anchor = match.group(1), match.group(2) or ""
        if path.startswith("results/figures/"):
            return f"]({up}figures/{path.split('/')[-1]})"
        if path in COPIED:
            return f"]({up}{COPIED[path]}{anchor})"
        return "]{ .path }"

    markdown = OUTSIDE.sub(target, markdown)
    markdown = re.sub(r"(?<!!)\[([^\]]*)\]\{ \.path \}", r"`\1`", markdown)
    if page.file.src_uri in COPIED.values():  # their links start at the top of the repository
        markdown = markdown.replace("](docs/", f"]({up}").replace("](results/figures/", f"]({up}figures/")
    return markdown


def rooms() -> list[str]:
    """Return the public rooms of the package, in order."""
    names = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    inner = [
        f"{home.removeprefix('liquidtime.')}.{name}" for name, home in exported().items() if is_package(home, name)
    ]
    return sorted([*inner, *(name for name in names if not name.startswith("_") and name not in {"cli", "paper"})])


def is_package(home: str, name: str) -> bool:
    """Return whether a name of `liquidtime` is a package inside a room."""
    return home != "liquidtime" and (PACKAGE.parent.joinpath(*home.split("."), name, "__init__.py")).exists()


def exported() -> dict[str, str]:
    """Return the names of `liquidtime` and the modules they come from, as type checkers see them."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {str(alias.asname): str(node.module) for node in imports for alias in node.names}


def api_index() -> str:
    """Return the page of `import liquidtime as lt`: every public name, with a link to its description."""
    rows = [f"| [`{room}`]({room}.md) | {summary(room)} | {names_of(room)} |" for room in rooms()]
    return (
        "# Python\n\n`import liquidtime as lt`\n\nThe names below are public, and so is `__all__` of each package; "
        "everything else may change without notice.\n\n"
        "| package | what it is | names at the top, as `lt.…` |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def names_of(room: str) -> str:
    """Return links to the names of `liquidtime` that come from a room."""
    home = f"liquidtime.{room}"
    names = [name for name, module in exported().items() if module == home]
    places = [f"{room}.{name}.md" if is_package(home, name) else f"{room}.md#{home}.{name}" for name in names]
    return ", ".join(f"[`{name}`]({place})" for name, place in zip(names, places, strict=True))


def summary(room: str) -> str:
    """Return the first line of a room's docstring."""
    path = PACKAGE.joinpath(*room.split("."), "__init__.py")
    text = ast.get_docstring(ast.parse((path if path.exists() else PACKAGE / f"{room}.py").read_text())) or ""
    return text.splitlines()[0]


def api_page(room: str) -> str:
    """Return the page of one room: what it is and every public name."""
    return (
        f"# liquidtime.{room}\n\n::: liquidtime.{room}\n    options:\n      show_root_heading: false\n"
        "      show_root_toc_entry: false\n"
    )


def notebooks() -> list[Path]:
    """Return the notebooks of the gallery."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def gallery_index() -> str:
    """Return the list of the notebooks, each with its title and its first sentence."""
    lines = [
        "# Gallery",
        "",
        "Notebooks of `examples/`, with the output of their last run. All data are made up or come with the package.",
        "",
    ]
    for path in notebooks():
        title, *rest = "".join(json.loads(path.read_text())["cells"][0]["source"]).strip().splitlines()
        lines += [f"- [{title.lstrip('# ')}]({path.stem}.md): {' '.join(' '.join(rest).split())}"]
    return "\n".join(lines) + "\n"


def notebook_page(path: Path) -> dict[str, str | bytes]:
    """Return the page of a notebook and its pictures, by their place in the site."""
    page: list[str] = []
    files: dict[str, str | bytes] = {}
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        source = "".join(cell["source"])
        page.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for place, output in enumerate(cell.get("outputs", [])):
            data: dict[str, Any] = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{number}-{place}.png"
                files[f"gallery/{name}"] = base64.b64decode("".join(data["image/png"]))
                page.append(f"![Output]({name})")
            elif text := "".join(output.get("text", data.get("text/plain", ""))).rstrip():
                page.append(f"```{{ .text .output }}\n{text}\n```")
    page.append(f"---\n\nThis page is `examples/{path.name}`.")
    files[f"gallery/{path.stem}.md"] = "\n\n".join(page) + "\n"
    return files
