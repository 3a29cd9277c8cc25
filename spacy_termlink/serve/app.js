"use strict";
// Every text of the server goes into the page as text (textContent), never as html.

const byId = (id) => document.getElementById(id);
let limits = { max_chars: Infinity, max_search_chars: Infinity };
let kbs = [];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function say(id, text, problem = false) {
  const place = byId(id);
  place.textContent = text;
  place.classList.toggle("problem", problem);
}

async function ask(path, body, signal) {
  const options = { signal };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail || `The server answered ${response.status}.`);
  return answer;
}

const problem = (error) =>
  error instanceof TypeError ? "The server does not answer. Is it still running?" : error.message;

// --- links

const route = (kb, id) => `#/concept/${encodeURIComponent(kb)}/${encodeURIComponent(id)}`;

function conceptLink(kb, id, text) {
  return make("a", { href: route(kb, id) }, text);
}

function pageLink(page, text, label) {
  const link = make("a", { href: page, target: "_blank", rel: "noopener noreferrer" }, text);
  if (label) link.setAttribute("aria-label", label);
  return link;
}

// --- search

let searching = null;
let waiting = null;

async function search() {
  clearTimeout(waiting);
  if (searching) searching.abort();
  const text = byId("search-text").value;
  if (!text.trim()) {
    byId("results").replaceChildren();
    say("search-status", "");
    return;
  }
  if (text.length > limits.max_search_chars) {
    say("search-status", `At most ${limits.max_search_chars} characters.`, true);
    return;
  }
  const mine = new AbortController();
  searching = mine;
  try {
    const found = await ask("search", { text, kb: byId("kb").value || null }, mine.signal);
    byId("results").replaceChildren(...found.candidates.map((c) => result(found, c)));
    const n = found.candidates.length;
    say("search-status", n ? `${n} ${n === 1 ? "concept" : "concepts"}, best first` : "Nothing found");
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("results").replaceChildren();
    say("search-status", problem(error), true);
  }
}

function result(found, candidate) {
  const score = make("span", { class: "score" }, candidate.score.toFixed(3));
  score.prepend(make("span", { class: "visually-hidden" }, "score "));
  const item = make("li", {}, score, conceptLink(found.kb, candidate.id, candidate.name), " ",
    make("span", { class: "id quiet" }, candidate.id));
  const details = [candidate.tier];
  if (candidate.matched.toLowerCase() !== candidate.name.toLowerCase()) {
    details.unshift(`matched “${candidate.matched}” (${candidate.kind})`);
  }
  if (candidate.probability !== null) {
    details.push(`probability ${candidate.probability.toFixed(2)}`);
  }
  if ((candidate.probability ?? candidate.score) < found.threshold) {
    details.push(`below the threshold ${found.threshold.toFixed(2)}: would not be linked`);
  }
  item.append(make("div", { class: "quiet" }, details.join(", ")));
  if (candidate.definition) item.append(make("div", {}, shorten(candidate.definition)));
  return item;
}

function shorten(text) {
  return text.length > 240 ? `${text.slice(0, 240).replace(/\s+\S*$/, "")} …` : text;
}

// --- a concept

let asked = 0;

async function showConcept() {
  const [, kind, kb, id] = location.hash.split("/");
  if (kind !== "concept" || !id) return;
  const number = ++asked;
  say("concept-status", "Loading …");
  try {
    const path = `concept/${id}?kb=${kb}`; // both are encoded as they are
    const concept = await ask(path);
    if (number !== asked) return; // another one was chosen meanwhile
    byId("concept-title").textContent = concept.name || concept.id;
    byId("concept-body").replaceChildren(...describe(concept));
    say("concept-status", "");
    document.title = `${concept.name} – termlink`;
    byId("concept-title").focus();
  } catch (error) {
    if (number !== asked) return;
    byId("concept-title").textContent = "Concept";
    byId("concept-body").replaceChildren();
    say("concept-status", problem(error), true);
  }
}

function describe(concept) {
  const facts = make("dl");
  const fact = (name, ...values) =>
    facts.append(make("dt", {}, name), make("dd", {}, ...values));
  fact("Id", make("span", { class: "id" }, concept.id));
  fact("Terminology", `${concept.kb} ${concept.release}`);
  if (concept.semantic_types.length) fact("Types", concept.semantic_types.join(", "));
  if (concept.page) fact("Its page", pageLink(concept.page, concept.page));
  const parts = [facts];
  if (concept.obsolete) {
    parts.unshift(make("p", { class: "problem" }, "Retired; nothing is linked to it."));
  }
  if (concept.definition) parts.push(make("p", { id: "definition" }, concept.definition));
  parts.push(...neighbours("Parents", "parents", concept));
  parts.push(...neighbours("Children", "children", concept));
  if (concept.names.length) {
    const rows = concept.names.map((name) =>
      make("tr", {}, make("td", {}, name.text), make("td", {}, name.kind), make("td", {}, name.language)));
    const head = ["name", "kind", "language"].map((title) => make("th", { scope: "col" }, title));
    parts.push(make("h3", {}, counted("Names", concept.names.length, concept.n_names)),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Names" },
        make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
  }
  return parts;
}

function neighbours(title, field, concept) {
  const items = concept[field].map((one) =>
    make("li", {}, conceptLink(concept.kb, one.id, one.name), " ",
      make("span", { class: "id quiet" }, one.id)));
  const shown = items.length ? make("ul", { id: field }, ...items) : make("p", { class: "quiet" }, "None");
  return [make("h3", {}, counted(title, items.length, concept[`n_${field}`])), shown];
}

function counted(title, shown, all) {
  return shown < all ? `${title} (the first ${shown} of ${all})` : `${title} (${all})`;
}

// --- a note

let linking = null;

async function annotate() {
  const text = byId("note-text").value;
  const characters = Array.from(text); // offsets count code points, JavaScript's count halves of them
  byId("note-body").replaceChildren();
  if (!text.trim()) {
    say("note-status", "The note is empty.", true);
    return;
  }
  if (characters.length > limits.max_chars) {
    say("note-status", `${characters.length} characters; at most ${limits.max_chars} are read.`, true);
    return;
  }
  if (linking) linking.abort();
  const mine = new AbortController();
  linking = mine;
  say("note-status", "Linking …");
  try {
    const answer = await ask("annotate", { text }, mine.signal);
    byId("note-body").replaceChildren(...showNote(characters, answer));
    const n = answer.annotations.length;
    const linked = answer.annotations.filter((a) => isLinked(a)).length;
    say("note-status", n ? `${n} ${n === 1 ? "mention" : "mentions"}, ${linked} linked` : "No mention found");
  } catch (error) {
    if (error.name !== "AbortError") say("note-status", problem(error), true);
  }
}

const isLinked = (annotation) => annotation.concept_id && annotation.concept_id !== "NIL";

function showNote(characters, answer) {
  const { marked, others } = splitOverlapping(answer.annotations);
  const shown = make("div", { class: "note-text" });
  let at = 0;
  for (const place of marked) {
    shown.append(characters.slice(at, place.start).join(""), mark(characters, place));
    at = place.end;
  }
  shown.append(characters.slice(at).join(""));
  const parts = [shown];
  if (others.length) {
    parts.push(make("h3", {}, "Mentions that overlap those marked"),
      make("ul", {}, ...others.map((place) => make("li", {}, mark(characters, place)))));
  }
  if (answer.annotations.length && !answer.assessed) {
    parts.push(make("p", { class: "quiet" }, "Assertion was not assessed: a marked finding may be "
      + "negated, uncertain, past, or of somebody else."));
  }
  return parts;
}

// Mentions at one place together; of places that overlap the longest is marked.
function splitOverlapping(annotations) {
  const places = new Map();
  for (const annotation of annotations) {
    const key = `${annotation.start} ${annotation.end}`;
    if (!places.has(key)) {
      places.set(key, { start: annotation.start, end: annotation.end, links: [] });
    }
    places.get(key).links.push(annotation);
  }
  const marked = [];
  const others = [];
  const byLength = [...places.values()].sort(
    (a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start);
  for (const place of byLength) {
    const free = marked.every((m) => m.end <= place.start || place.end <= m.start);
    (free ? marked : others).push(place);
  }
  const byStart = (a, b) => a.start - b.start || a.end - b.end;
  return { marked: marked.sort(byStart), others: others.sort(byStart) };
}

function mark(characters, place) {
  const element = make("mark", {}, characters.slice(place.start, place.end).join(""));
  element.classList.toggle("nil", !place.links.some(isLinked));
  for (const link of place.links) {
    const shown = make("span", { class: "link" });
    if (isLinked(link)) {
      const about = [link.kb, `score ${link.score.toFixed(3)}`, link.tier, link.assertion];
      const anchor = conceptLink(link.kb, link.concept_id, `${link.concept_id} ${link.concept_name}`);
      anchor.title = about.filter(Boolean).join(", ");
      shown.append(anchor);
      if (link.assertion && link.assertion !== "affirmed") shown.append(` (${link.assertion})`);
      if (link.page) {
        shown.append(" ", pageLink(link.page, "↗", `Page of ${link.concept_id} on the web`));
      }
    } else {
      shown.append(kbs.length > 1 ? `NIL in ${link.kb}` : "NIL");
    }
    element.append(" ", shown);
  }
  return element;
}

// --- the page

function showAbout() {
  const kb = kbs.find((one) => one.name === byId("kb").value) || kbs[0];
  if (!kb) return;
  const size = `${kb.n_concepts.toLocaleString("en")} concepts, ${kb.n_names.toLocaleString("en")} names`;
  const release = kb.release ? `release ${kb.release}` : "release not stated";
  byId("about").textContent =
    `${kb.name}, ${release}: ${size}. Licence: ${kb.licence || "not stated"}`;
}

async function start() {
  try {
    limits = await ask("health");
    kbs = limits.kbs;
    byId("kb").replaceChildren(...kbs.map((kb) => make("option", { value: kb.name }, kb.name)));
    byId("kb-choice").hidden = kbs.length < 2;
    showAbout();
  } catch (error) {
    say("search-status", problem(error), true);
  }
  showConcept();
}

byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
byId("search-text").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 250);
});
byId("kb").addEventListener("change", () => {
  showAbout();
  search();
});
byId("note-form").addEventListener("submit", (event) => {
  event.preventDefault();
  annotate();
});
byId("note-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) annotate();
});
window.addEventListener("hashchange", showConcept);
start();
