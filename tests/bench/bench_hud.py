"""What the HUD's script weighs, and what it takes of the page's thread while an answer of 10,000 pieces streams in.

The page is a stand-in with the elements of Open WebUI that the HUD looks at; the bare run is the same page without it.

python -m tests.bench.bench_hud [--json FILE]
"""

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "libs"), str(ROOT), str(ROOT / "tests")]

from playwright.sync_api import Browser, Route  # noqa: E402
from tests.bench._harness import Report, json_option  # noqa: E402

from echo_core.figures import TurnFigures  # noqa: E402
from echo_core.usage import ContextStats  # noqa: E402
from echo_ui import Gauge, static_file  # noqa: E402
from live.page import chromium  # noqa: E402

ORIGIN = "http://page.test"
CHUNKS = 10_000
#: Pieces in one go and the pause between; all together take some ten seconds, as a fast answer does.
STREAM = f"""() => new Promise(done => {{
    const text = document.querySelector("#text");
    let left = {CHUNKS};
    const more = () => {{
        for (let n = 0; n < 5 && left > 0; n++, left--) text.append("words of an answer ");
        left > 0 ? setTimeout(more, 4) : done();
    }};
    more();
}})"""
PAGE = """<!doctype html><html lang="en"><body><div id="text"></div><form>
<div id="message-input-container"><button type="button" id="model-selector-model-button">ECHO</button></div></form>
<script>localStorage.setItem("token", "bench")</script>{script}</body></html>"""
#: What a page loads for the HUD before anybody opens a dialog; all of it is loaded at once.
MODULES = (
    "",
    "-api",
    "-bar",
    "-charts",
    "-compaction",
    "-dialog",
    "-drawer",
    "-format",
    "-meter",
    "-panel",
    "-place",
    "-texts",
)
SCRIPTS = ("loader.js", "dom.js", "i18n.js", *(f"hud{name}.js" for name in MODULES))
FILES = (*SCRIPTS, "hud.css", "hud-dialog.css", "charts.css")
TURN = TurnFigures(
    message_id="m", at_s=1, model_id="gemini", level="FLASH", cause="chat", window_tokens=1_000_000, usd=0.01
)


@dataclass(frozen=True, slots=True)
class Run:
    """What one stream cost.

    Args:
        hud_ms: the HUD's own script, by the sampling profiler.
        layouts: how often the page was laid out.
        busy_ms: all tasks of the page's thread.
    """

    hud_ms: float
    layouts: float
    busy_ms: float


def answer(route: Route, script: str) -> None:
    """Serve the page and the HUD's files as ECHO would."""
    path = route.request.url.removeprefix(ORIGIN).split("?")[0]
    if path == "/c/one":
        route.fulfill(content_type="text/html", body=PAGE.replace("{script}", script))
    elif path == "/echo/api/hud":
        gauge = Gauge(chat_id="one", chat=ContextStats(prompt_tokens=120_000), turn=TURN)
        route.fulfill(json={"display": "page", "is_echo": True, "gauge": gauge.payload()})
    elif (found := static_file(path.rsplit("/", 1)[-1])) is not None:
        route.fulfill(content_type=found.media_type, body=found.content)
    else:
        route.fulfill(status=404)


def stream(browser: Browser, *, hud: bool) -> Run:
    page = browser.new_page()
    script = '<script src="/static/loader.js" defer></script>' if hud else ""
    page.route("**/*", lambda route: answer(route, script))
    page.goto(f"{ORIGIN}/c/one")
    if hud:
        page.locator("#echo-hud .share").wait_for()
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    tools.send("Profiler.enable")
    tools.send("Profiler.setSamplingInterval", {"interval": 100})
    before = metrics(tools)
    tools.send("Profiler.start")
    page.evaluate(STREAM)
    profile = tools.send("Profiler.stop")["profile"]
    after = metrics(tools)
    page.close()
    return Run(
        own_ms(profile),
        after["LayoutCount"] - before["LayoutCount"],
        1e3 * (after["TaskDuration"] - before["TaskDuration"]),
    )


def metrics(tools: Any) -> dict[str, float]:
    return {entry["name"]: entry["value"] for entry in tools.send("Performance.getMetrics")["metrics"]}


def own_ms(profile: dict[str, Any]) -> float:
    """Time in functions of the HUD's files, with what these call inside the browser."""
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", ())}
    ours = {node["id"] for node in profile["nodes"] if "/echo/hud/" in node["callFrame"]["url"]}

    def belongs(node: int | None) -> bool:
        while node is not None:
            if node in ours:
                return True
            node = parents.get(node)
        return False

    deltas = zip(profile["samples"], profile["timeDeltas"], strict=True)
    return sum(delta for sample, delta in deltas if belongs(sample)) / 1e3


def measure(report: Report) -> None:
    contents = [found.content for name in FILES if (found := static_file(name)) is not None]
    assert len(contents) == len(FILES)
    report.figure("files, as they are", "kB", sum(map(len, contents)) / 1e3, at_most=60)
    report.figure("files, compressed one by one", "kB", sum(len(gzip.compress(one)) for one in contents) / 1e3)
    with chromium() as browser:
        stream(browser, hud=True)
        ours, bare = stream(browser, hud=True), stream(browser, hud=False)
    report.figure(f"the HUD's own time in {CHUNKS} pieces", "ms", ours.hud_ms, at_most=50)
    report.over("layouts of the page", "", ours.layouts, bare.layouts, at_most=max(20, 0.05 * bare.layouts))
    report.ratio("all of the page's thread", "ms", ours.busy_ms, bare.busy_ms)


def main() -> int:
    json_file = json_option(__doc__ or "")
    report = Report(f"The HUD in the page while {CHUNKS} pieces stream in")
    measure(report)
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main())
