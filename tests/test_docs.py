"""Every Python block of the documentation runs as it stands, page by page, and the site builds."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
PAGES = {str(p.relative_to(ROOT / "docs")): p for p in sorted((ROOT / "docs").rglob("*.md"))}
BLOCKS = {
    name: blocks
    for name, page in PAGES.items()
    if (blocks := re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))
}
NEEDS = {
    "tutorials/policy.md": ("openai", "install the extra 'dev'"),
    "tutorials/trl.md": ("trl", "run tests/adapters/run trl"),
    "tutorials/verifiers.md": ("verifiers", "run tests/adapters/run verifiers"),
    "tutorials/openenv.md": ("openenv", "run tests/adapters/run openenv"),
}
FIRST = {"tutorials/verifiers.md": "vf-eval"}
"""The command of a page whose results its blocks read."""
SERVER, ENDPOINT, MODEL = "http://localhost:8000", "http://localhost:8000/v1", "Qwen/Qwen3-VL-2B-Instruct"
"""What a reader has and a test has not: here each gets a stand-in."""


class Endpoint(BaseHTTPRequestHandler):
    """A model that always goes up."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "<action>up</action>"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        body = json.dumps({**answer, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def endpoint():
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@contextmanager
def served(app):
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)


def tiny_model(folder):
    """The model of this package, with the chat template of the one that it stands for."""
    from trl.chat_template_utils import qwen3_vl_chat_template

    import visgym_maze_skyrl

    shutil.copytree(Path(visgym_maze_skyrl.__file__).parent / "assets" / "tiny-maze-7x7", folder)
    (folder / "chat_template.jinja").write_text(qwen3_vl_chat_template)
    return str(folder)


def run_the_command(program, page, stack):
    """The first line of the page that calls the program, in the folder where the page's blocks run."""
    text = (
        page.read_text(encoding="utf-8")
        .replace("\\\n", " ")
        .replace(ENDPOINT, stack.enter_context(endpoint()))
    )
    line = next(line for line in text.splitlines() if line.startswith(f"{program} "))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


def page(name):
    package, remedy = NEEDS.get(name, ("visgym_maze", ""))
    missing = importlib.util.find_spec(package) is None
    marks = [pytest.mark.skipif(missing, reason=f"needs {package}: {remedy}")]
    if package in ("trl", "openenv"):
        marks.append(pytest.mark.filterwarnings("default"))
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [page(name) for name in BLOCKS])
def test_the_blocks_of_a_page_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "docs"}
    with ExitStack() as stack:
        if name in FIRST:
            run_the_command(FIRST[name], PAGES[name], stack)
        for number, block in enumerate(BLOCKS[name]):
            source = block
            if ENDPOINT in source:
                source = source.replace(ENDPOINT, stack.enter_context(endpoint()))
            if SERVER in source:
                source = source.replace(SERVER, stack.enter_context(served(names["app"])))
            if MODEL in source:
                source = source.replace(MODEL, tiny_model(tmp_path / "model"))
            exec(compile(source, f"docs/{name}, block {number}", "exec", dont_inherit=True), names)


def test_the_picture_of_the_first_page_is_what_its_block_makes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCKS["start.md"][:2]:
        exec(block, names)
    shown, made = (Image.open(path).tobytes() for path in (ROOT / "docs/assets/maze.png", "maze.png"))
    assert shown == made


def targets(page):
    """Files that a page's prose links to."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]


def test_links_lead_somewhere_in_a_checkout_too():
    """mkdocs looks after the site; these are the links that a reader of the repository follows."""
    pages = [
        *PAGES.values(),
        *ROOT.glob("*.md"),
        ROOT / "deploy/README.md",
        ROOT / "examples/downstream/README.md",
    ]
    links = [(page, target) for page in pages for target in targets(page)]
    broken = [(page, target) for page, target in links if not (page.parent / target).exists()]
    assert not broken


def test_an_example_is_read_in_one_go():
    examples = [
        path for path in (ROOT / "examples").rglob("*.py") if not any(p.startswith(".") for p in path.parts)
    ]
    assert len(examples) >= 6
    assert {path.name: n for path in examples if (n := len(path.read_text().splitlines())) >= 100} == {}


def test_the_pages_that_a_newcomer_reads_have_blocks():
    assert {"start.md", "concepts.md", "numbers.md", "tutorials/reward.md", "tutorials/policy.md"} <= set(
        BLOCKS
    )
    assert {*NEEDS, *FIRST} <= set(BLOCKS)


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="needs mkdocs: install the extra 'dev'"
)
def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("index.html"))
    assert len(pages) >= 15
    reference = (tmp_path / "site" / "reference" / "dialogue" / "index.html").read_text(encoding="utf-8")
    assert "Play one answer." in reference
    assert ":class:" not in reference
