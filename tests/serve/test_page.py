"""The page in a headless Chromium: types, clicks and reads as a user does."""

import os
import shutil
import time

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra dev)")

NOTE = "😀 Two fits, then an evil finding."
TEXT_CONTRAST = 4.5  # WCAG 2.1, 1.4.3


def find_chromium():
    """Path of a Chromium of this machine; $CHROMIUM names another."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, names)]
    return next((path for path in found if path), None)


@pytest.fixture(scope="module")
def browser():
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on this machine (set CHROMIUM to its path)")
    with sync_api.sync_playwright() as playwright:
        # its sandbox needs rights that containers lack; the only page opened is ours
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """The page; at the end no script failed, nothing was blocked and nothing came from elsewhere."""
    page = browser.new_page()
    problems, asked = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#about:not(:empty)")
    yield page
    page.close()
    assert problems == []
    assert all(url.startswith((address, "data:")) for url in asked)


def read(page, selector):
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def wait_for_focus(page, field, value):
    """Until the element with the focus has this value. Not by wait_for_function: where it has to wait,
    it evaluates its text inside the page, which the page's policy forbids."""
    end = time.monotonic() + 10
    while page.evaluate(f"document.activeElement.{field}") != value:
        assert time.monotonic() < end, f"no focus on {value!r}"
        page.wait_for_timeout(20)


def test_typing_finds_concepts(page):
    page.get_by_label("A name, or words for it").press_sequentially("epileptic fits")
    page.wait_for_selector("#results li")
    first = page.locator("#results li").first
    assert first.locator("a").inner_text() == "seizure"
    for shown in ("1.000", "S:2", "matched “epileptic fit” (exact)", "A sudden discharge."):
        assert shown in first.inner_text()
    assert "concepts, best first" in page.locator("#search-status").inner_text()
    assert page.locator("#about").inner_text().endswith("Licence: <b>test</b>")


def test_concepts_are_clicked_through(page, evil):
    page.get_by_label("A name, or words for it").fill("absence seizure")
    page.locator("#results a", has_text="absence seizure").click()
    wait_for_focus(page, "textContent", "absence seizure")
    page.locator("#parents a").click()
    page.wait_for_selector("#definition")
    assert read(page, "#concept-title") == ["seizure"]
    assert read(page, "#children a") == ["absence seizure", evil]
    assert read(page, "tbody td:first-child") == ["seizure", "epileptic fit", "fits"]
    page.locator("#parents a").click()
    wait_for_focus(page, "textContent", "abnormality")
    page.go_back()
    wait_for_focus(page, "textContent", "seizure")


def test_a_name_of_html_stays_text(page, evil):
    page.get_by_label("A name, or words for it").fill("evil finding")
    page.wait_for_selector("#results li")
    assert evil in read(page, "#results a")
    page.locator("#results a", has_text="<script>").click()
    page.wait_for_selector("#definition")
    assert read(page, "#concept-title") == [evil] and read(page, "#definition") == [evil]
    assert page.title() == f"{evil} – termlink"
    page.get_by_label("A note to link").fill(f"{evil} evil finding")
    page.get_by_role("button", name="Link").click()
    page.wait_for_selector("mark")
    assert evil in page.locator("mark").inner_text()
    assert page.locator("main script, main img").count() == 0


def test_a_note_is_marked(page):
    page.get_by_label("A note to link").fill(NOTE)
    page.get_by_role("button", name="Link").click()
    page.wait_for_selector("mark")
    first = page.locator("mark").first
    assert first.inner_text().split() == ["fits", "S:2", "seizure", "↗"]
    assert page.locator(".note-text").inner_text().startswith("😀 Two fits")
    assert page.locator("#note-status").inner_text() == "2 mentions, 2 linked"
    assert "Assertion was not assessed" in page.locator("#note-body").inner_text()
    outside = first.get_by_role("link", name="Page of S:2 on the web")
    assert outside.get_attribute("href") == "https://example.org/term/S:2"
    first.get_by_role("link", name="S:2 seizure").click()
    page.wait_for_selector("#definition")
    assert read(page, "#concept-title") == ["seizure"]


def test_problems_are_said(page):
    page.get_by_role("button", name="Link").click()
    assert page.locator("#note-status.problem").inner_text() == "The note is empty."
    page.get_by_label("A note to link").fill("x" * 2001)
    page.get_by_role("button", name="Link").click()
    assert "at most 2000" in page.locator("#note-status.problem").inner_text()
    page.get_by_label("A name, or words for it").fill("x" * 101)
    page.wait_for_selector("#search-status.problem")


def test_the_keyboard_is_enough(page):
    """Tab from field to field, Enter to act; the focus goes where something new stands."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "search-text":
            break
    page.keyboard.type("absence seizure")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results li")
    while not page.evaluate("document.activeElement.closest('#results li')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for_focus(page, "id", "concept-title")
    page.locator("#note-text").focus()
    page.keyboard.type(NOTE)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("mark")


def test_fields_have_names_and_messages_are_announced(page):
    for selector in ("#search-text", "#note-text", "#kb"):
        assert page.locator(selector).evaluate("e => e.labels.length") == 1
    for selector in ("#search-status", "#concept-status", "#note-status"):
        assert page.locator(selector).get_attribute("aria-live") == "polite"
    headings = page.locator("section").evaluate_all(
        "all => all.map(e => document.getElementById(e.getAttribute('aria-labelledby')).tagName)"
    )
    assert headings == ["H2"] * 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.get_by_label("A name, or words for it").fill("seizure")
    page.get_by_label("A note to link").fill(NOTE)
    page.get_by_role("button", name="Link").click()
    page.wait_for_selector("mark")
    page.locator("#results a").first.click()
    page.wait_for_selector("#definition")
    colours = page.evaluate(COLOURS)
    assert len(colours) > 30
    for text, ground, shown in colours:
        assert contrast(text, ground) >= TEXT_CONTRAST, shown


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_cut_off(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    page.get_by_label("A name, or words for it").fill("evil finding")
    page.locator("#results a").first.click()
    page.wait_for_selector("#concept-body dl")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


#: [colour, background, text] of each element that holds text itself.
COLOURS = """
() => [...document.querySelectorAll("body *")].flatMap((element) => {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !element.checkVisibility() || element.tagName === "NOSCRIPT") return [];
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  const numbers = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
  return [[numbers(getComputedStyle(element).color),
           numbers(getComputedStyle(ground).backgroundColor), element.textContent.slice(0, 40)]];
})
"""


def contrast(first, second):
    """Ratio of two colours' luminances (WCAG 2.1)."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast_of_known_colours():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((255, 0, 0), (255, 255, 255)) == pytest.approx(4.0, abs=0.01)
