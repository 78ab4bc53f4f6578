"""The dashboard in Debian's Chromium: `make test-browser`.

Looks at every page at three widths, in light and dark; pictures of them are in
target/browser/pages.
"""

import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients"))
import testing  # noqa: E402

Client = testing.load_client().Client
PICTURES = ROOT / "target/browser/pages"
FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync""".split()
WIDTHS = (390, 820, 1440)
PAGES = {
    "datasets": "/datasets",
    "dataset": "/datasets/people",
    "models": "/models",
    "model": "/models/banner",
    "supervised": "/models/wages",
    "operator": "/models/banner/operator",
    "audit": "/audit",
    "none": "/models/none",
}

# Text whose contrast with what is behind it is below what WCAG asks for (AA).
CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE", "title"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const inSvg = element.namespaceURI.includes("svg");
    const front = parse(inSvg ? style.fill : style.color);
    const [a, b] = [light(front), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24;
    if (contrast < (isLarge ? 3 : 4.5)) poor.push([walk.currentNode.data.slice(0, 40), contrast]);
  }
  return poor;
}"""

# Charts without anything in them (a budget may be at 0), and things without names.
EMPTY = """() => [...document.querySelectorAll("svg.chart:not(.meter)")].filter((chart) => {
  const marks = [...chart.querySelectorAll("circle, polyline, polygon, rect:not(.track)")];
  return !marks.some((mark) => mark.getBBox().width > 0);
}).map((chart) => chart.outerHTML.slice(0, 200))"""
UNNAMED = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), [role=img]")]
  .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length))
  .map((e) => e.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def server():
    """A server with two models, each of which has released something."""
    with testing.Server() as server:
        operator = Client(server.url, server.tokens["operator"])
        client = Client(server.url, server.tokens["client"])
        operator.make_dataset("people", 20.0, 1e-5)
        operator.make_dataset("others", 1.0, 1e-7, "zero-out")
        operator.make_model("banner", **testing.DECIDES)
        settings = {
            "dataset": "people",
            "task": "classify",
            "schema": {
                "bounds": {"age": [0, 100]},
                "vocabulary": {"device": ["phone", "desk"]},
                "target": "paid",
            },
            "batch": 20,
            "batches": 3,
            "reward_wait": 1,
            "epsilon": 4.0,
            "delta": 1e-6,
            "simulated": 5,
        }
        operator.make_model("wages", **settings)
        row = lambda n: {"age": n, "device": "phone" if n % 3 else "desk"}
        rows = [{"features": row(n), "target": int(n > 30)} for n in range(60)]
        client.records("wages", rows)
        for _ in range(3):
            close_a_batch(client)
            wait_for(lambda: has_released(client.model("banner")))
        wait_for(lambda: client.model("wages")["status"] == "finished")
        yield server


def wait_for(condition):
    import time

    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def has_released(told):
    return told["released"] == told["slots"] // told["batch"]


def close_a_batch(client):
    """As many decisions as the open batch has slots left."""
    told = client.model("banner")
    for place in range(told["batch"] - told["slots"] % told["batch"]):
        decision = client.decide("banner", {"age": 9 * place, "device": "phone"})
        # Numbers that nothing else on a page has.
        client.reward("banner", decision.event_id, 0.61803 + 0.01357 * place)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


class Visitor:
    """A browser of its own, which remembers all requests and complaints, and goes nowhere else."""

    def __init__(self, browser, server, role, width=820, scheme="light"):
        self.server, self.complaints, self.requests = server, [], []
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )

        def route(route):
            self.requests.append(route.request.url)
            if route.request.url.startswith(server.url + "/"):
                route.continue_()
            else:
                route.abort()

        self.context.route("**/*", route)
        self.page = self.context.new_page()
        self.page.on("console", self._complain)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if role:
            self.sign_in(server.tokens[role])

    def _complain(self, message):
        # Chromium writes every refused page to the console.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def sign_in(self, token):
        self.page.goto(self.server.url + "/sign-in")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("button", name="Sign out").wait_for()

    def go(self, path):
        return self.page.goto(self.server.url + path)

    def check(self):
        assert self.complaints == []
        assert self.requests and all(url.startswith(self.server.url) for url in self.requests)
        self.context.close()


def test_signing_in_and_out(browser, server):
    visitor = Visitor(browser, server, None)
    page = visitor.page
    visitor.go("/models/banner")
    expect(page).to_have_url(server.url + "/sign-in?next=/models/banner")
    page.get_by_label("Token").fill("hs_wrong_token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    page.get_by_label("Token").fill(server.tokens["reader"])
    page.keyboard.press("Enter")
    expect(page).to_have_url(server.url + "/models/banner")
    expect(page.get_by_role("heading", level=1)).to_have_text("banner")
    [cookie] = visitor.context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    assert server.tokens["reader"] not in cookie["value"]
    stored = "document.cookie + JSON.stringify({...sessionStorage, ...localStorage})"
    assert page.evaluate(stored) == "{}"
    # The cookie opens pages, and does not ask the API.
    assert page.evaluate("fetch('/v1/whoami').then((answer) => answer.status)") == 401
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(server.url + "/sign-in")
    visitor.go("/models")
    expect(page).to_have_url(re.compile("/sign-in"))
    # The keyboard reaches the page without the bar above it.
    visitor.sign_in(server.tokens["reader"])
    visitor.go("/models")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="banner")).to_be_focused()
    visitor.check()


def test_a_batch_closes_while_one_watches(browser, server):
    visitor = Visitor(browser, server, "reader")
    page = visitor.page
    visitor.go("/models/banner")
    expect(page.locator("[data-pulse]")).to_have_text("live")
    page.evaluate("window.isTheSamePage = true")
    closed = int(page.locator("[data-closed]").text_content())
    dots = page.locator("#rewards circle.dot")
    before = dots.count()
    assert before >= 3 * closed
    close_a_batch(Client(server.url, server.tokens["client"]))
    expect(page.locator("[data-closed]")).to_have_text(str(closed + 1), timeout=30_000)
    expect(page.locator("[data-log] li").last).to_contain_text(f"Batch {closed + 1} closed")
    expect(page.locator("[data-policy]")).to_have_text(str(closed + 1), timeout=30_000)
    # One more dot on each of three lines.
    expect(dots).to_have_count(before + 3, timeout=30_000)
    expect(page.locator("#history tbody tr").first).to_contain_text(str(closed + 1))
    assert page.evaluate("window.isTheSamePage")
    visitor.check()


def test_a_reader_sees_no_number_of_the_operator(browser, server):
    operator = Client(server.url, server.tokens["operator"])
    exact = operator.operator("banner")
    watcher = Visitor(browser, server, "operator")
    watcher.go("/models/banner/operator")
    shown = watcher.page.locator("main").inner_text()
    mean = f"{exact['mean_reward']:.4f}"
    assert mean in shown and "Operator only" in shown
    assert f"{exact['plays']['red']} (" in shown
    watcher.check()
    for role in ("reader", "client"):
        visitor = Visitor(browser, server, role)
        everything = ""
        for path in PAGES.values():
            visitor.go(path)
            everything += visitor.page.content()
        assert "/models/banner" in everything
        visitor.go("/models/banner/operator")
        assert "may not see this" in visitor.page.locator("h1").inner_text()
        everything += visitor.page.content()
        for word in ("operator-link", "Operator only", "mean_reward", "plays", mean):
            assert word not in everything, word
        visitor.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_sound(browser, server, width, scheme):
    PICTURES.mkdir(parents=True, exist_ok=True)
    visitor = Visitor(browser, server, None, width, scheme)
    page = visitor.page
    visitor.go("/sign-in")
    page.screenshot(path=PICTURES / f"sign-in-{width}-{scheme}.png")
    look(page)
    visitor.sign_in(server.tokens["operator"])
    for name, path in PAGES.items():
        visitor.go(path)
        if name == "model":
            expect(page.locator("[data-pulse]")).to_have_text("live")
        look(page)
        page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png", full_page=True)
    visitor.check()


def look(page):
    where = page.url
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
    assert page.evaluate(CONTRAST) == [], where
    assert page.evaluate(EMPTY) == [], where
    assert page.evaluate(UNNAMED) == [], where
    assert page.locator("h1").count() == 1 and page.locator("main").count() == 1, where


def test_headers(server):
    with urllib.request.urlopen(server.url + "/sign-in") as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
