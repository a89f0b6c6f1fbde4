"use strict";
// Plays the episodes that lie in the page. A model may have written any text in them, so all of it goes into
// text nodes: nothing here builds markup from a string, and the page's policy would refuse it.

const ARROWS = { left: "←", right: "→", up: "↑", down: "↓", stop: "■" };
const SECONDS_PER_TURN = 0.55;
const LONG = 4000; // characters of an answer that are shown before "show all"
// Control characters, those that change the direction or order of what is around them, and halves of characters.
const INVISIBLE = /[\p{Surrogate}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);
const visible = (text) => text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const number = (x) => (Math.abs(x) < 1e6 ? x.toFixed(2) : x.toExponential(1)).replace("-", "−");
const signed = (x) => (x > 0 ? "+" : "") + number(x);
const label = (outcome) => (outcome === "goal" ? "solved" : (outcome ?? "unfinished").replaceAll("_", " "));
const colour = (outcome) => (outcome === "goal" ? "good" : outcome === "wrong_stop" ? "bad" : "warn");
const mark = (outcome) => ({ goal: "✓", wrong_stop: "✗" })[outcome] ?? "◦";

/** An HTML element; its text becomes a text node. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function setCurrent(node, on) {
  if (on) node.setAttribute("aria-current", "true");
  else node.removeAttribute("aria-current");
}

let data; // what the page carries
let shown = []; // numbers of the episodes that pass the filters
let current = 0; // number of the selected episode
let turn = 0; // turns played of it; 0 is the start
let together = false; // whether all episodes of its maze are on the stage
let pictures = []; // [picture, episode] of what is on the stage
let timer = null;
const chosen = { outcome: null, source: null };

async function unpack() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// ---- The maze -------------------------------------------------------------------------------------------

/** One line per pair of free neighbours, and a dot per free cell and per free block of four. */
function corridors(rows) {
  const free = (r, c) => rows[r]?.[c] !== undefined && rows[r][c] !== "#";
  let path = "";
  rows.forEach((row, r) => [...row].forEach((_, c) => {
    if (!free(r, c)) return;
    path += `M${c + 0.5} ${r + 0.5}h0`;
    if (free(r, c + 1)) path += "h1";
    if (free(r + 1, c)) path += `M${c + 0.5} ${r + 0.5}v1`;
    if (free(r, c + 1) && free(r + 1, c) && free(r + 1, c + 1)) path += `M${c + 1} ${r + 1}h0`;
  }));
  return path;
}

function find(rows, letter) {
  const row = rows.findIndex((line) => line.includes(letter));
  return [row, rows[row].indexOf(letter)];
}

/** A picture of a maze, and a function that shows an episode in it after some turns. */
function picture(maze) {
  const rows = maze.maze, start = find(rows, "S"), goal = find(rows, "G");
  const trail = draw("polyline", { class: "trail" });
  const agent = draw("circle", { class: "agent", r: 0.29 });
  const node = draw("svg", { viewBox: `0 0 ${rows[0].length} ${rows.length}`, role: "img" },
    draw("rect", { class: "wall", width: rows[0].length, height: rows.length, rx: 0.4 }),
    draw("path", { class: "floor", d: corridors(rows) }),
    draw("circle", { class: "start", cx: start[1] + 0.5, cy: start[0] + 0.5, r: 0.33 }),
    draw("rect", { class: "goal", x: goal[1] + 0.2, y: goal[0] + 0.2, width: 0.6, height: 0.6, rx: 0.12 }),
    trail, agent);
  const place = ([row, column]) => `translate(${column + 0.5}px, ${row + 0.5}px)`;

  function show(episode, count, moving) {
    const turns = episode.turns.slice(0, count);
    const cells = [start, ...turns.flatMap((t) => t.path)];
    const cell = cells.at(-1), last = turns.at(-1);
    trail.setAttribute("points", cells.map(([r, c]) => `${c + 0.5},${r + 0.5}`).join(" "));
    agent.style.transform = place(cell);
    agent.setAttribute("data-cell", cell.join(","));
    node.setAttribute("aria-label", `Maze after turn ${turns.length}, agent in row ${cell[0]}, column ${cell[1]}`);
    agent.getAnimations().forEach((animation) => animation.cancel());
    if (!moving || !last || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const way = cells.slice(-last.path.length - 1);
    if (last.bumped) way.push(nudge(cell, last), cell);
    if (way.length > 1) agent.animate(way.map((c) => ({ transform: place(c) })), { duration: 220, easing: "ease-out" });
  }
  return { node, show };
}

/** A quarter of a cell into the wall that a turn ended at. */
function nudge([row, column], { action, path }) {
  const tried = (action ?? "").split(",")[path.length];
  const [down, right] = { left: [0, -1], right: [0, 1], up: [-1, 0], down: [1, 0] }[tried] ?? [0, 0];
  return [row + down / 4, column + right / 4];
}

// ---- The list and its filters ---------------------------------------------------------------------------

function buildFilters() {
  const outcomes = new Map(), sources = new Map();
  for (const { outcome, source } of data.episodes) {
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    sources.set(source, (sources.get(source) ?? 0) + 1);
  }
  byId("filters").append(chips("outcome", outcomes, label));
  if (sources.size > 1) byId("filters").append(chips("source", sources, (source) => data.sources[source]));
}

function chips(field, counts, name) {
  const box = make("div", { role: "group", "aria-label": `Filter by ${field}` });
  const add = (text, key, value) => {
    const chip = make("button", { "aria-pressed": value === undefined, "data-filter": key }, text);
    chip.onclick = () => {
      chosen[field] = value === undefined ? null : { value };
      for (const other of box.children) other.setAttribute("aria-pressed", other === chip);
      buildList();
    };
    box.append(chip);
  };
  add(`all ${data.episodes.length}`, `${field}:all`, undefined);
  for (const [value, count] of [...counts].sort(([a], [b]) => (a === "goal" ? -1 : b === "goal" ? 1 : 0))) add(visible(`${name(value)} ${count}`), `${field}:${value}`, value);
  return box;
}

function buildList() {
  const passes = (episode) => ["outcome", "source"].every((f) => !chosen[f] || chosen[f].value === episode[f]);
  shown = [...data.episodes.keys()].filter((i) => passes(data.episodes[i]));
  byId("list").replaceChildren(...shown.map(listed));
  if (shown.length && !shown.includes(current)) select(shown[0]);
  else markCurrent();
}

function listed(i) {
  const episode = data.episodes[i];
  const place = episode.group === null ? "" : ` · group ${episode.group}, rollout ${episode.rollout ?? "?"}`;
  const button = make("button", { "data-episode": i },
    make("span", { class: colour(episode.outcome) }, mark(episode.outcome)),
    make("span", {}, `#${i} ${label(episode.outcome)}`),
    make("span", { class: "muted" }, number(episode.reward)),
    make("small", {}, `${data.mazes[episode.maze].shortest} moves${place}`));
  button.onclick = () => select(i);
  return make("li", {}, button);
}

function markCurrent() {
  for (const { firstChild: button } of byId("list").children) {
    const here = Number(button.dataset.episode) === current;
    setCurrent(button, here);
    if (here) follow(byId("list"), button.parentNode);
  }
}

// ---- One episode ----------------------------------------------------------------------------------------

function select(i) {
  current = i;
  turn = 0;
  pause();
  markCurrent();
  buildStage();
  buildLog();
  goTo(0);
}

function kind(episode, i) {
  const { failure, bumped, action } = episode.turns[i];
  if (failure !== null) return "invalid";
  if (bumped) return "bump";
  if (i === episode.turns.length - 1 && episode.outcome === "goal") return "goal";
  return (action ?? "").endsWith("stop") ? "wrong" : "move";
}

const actionText = ({ action, failure }) =>
  failure !== null ? `no action: ${visible(failure).replaceAll("_", " ")}`
    : visible(action ?? "").split(",").map((word) => `${ARROWS[word] ?? ""} ${word}`).join(", ");

function facts(episode) {
  const moves = episode.turns.reduce((sum, { path }) => sum + path.length, 0);
  const pairs = [
    ["reward", number(episode.reward)],
    ["turns", `${episode.turns.length} of ${episode.maxTurns}`],
    ["moves", `${moves}, shortest ${data.mazes[episode.maze].shortest}`],
    ...(episode.advantage === null ? [] : [["advantage", signed(episode.advantage)]]),
    ...(data.sources.length > 1 ? [["from", data.sources[episode.source]]] : []),
    ...Object.entries(episode.info),
  ];
  return [make("b", { class: colour(episode.outcome) }, `#${current} ${label(episode.outcome)}`),
    ...pairs.map(([name, value]) => make("span", {},
      make("span", { class: "muted" }, `${visible(name)} `), visible(value.slice(0, 200))))];
}

function buildLog() {
  const { turns } = data.episodes[current];
  const none = make("p", { class: "muted" }, "No turn was played.");
  byId("log").replaceChildren(...(turns.length ? turns.map((t, i) => said(t, i)) : [none]));
  byId("log").scrollTop = 0;
}

function said(t, i) {
  const bad = t.failure !== null ? "bad" : t.bumped ? "warn" : "";
  const text = make("pre", { class: "said", dir: "auto" }, visible(t.text.slice(0, LONG)));
  const box = make("article", { class: "turn" },
    make("header", {}, make("b", {}, `Turn ${i + 1}`), make("span", { class: bad }, actionText(t)),
      make("span", { class: t.reward > 0 ? "good" : t.reward < 0 ? "bad" : "muted" }, signed(t.reward))),
    text);
  if (t.text.length > LONG) {
    const all = make("button", {}, `show all ${t.text.length.toLocaleString("en")} characters`);
    all.onclick = () => { text.textContent = visible(t.text); all.remove(); };
    box.append(all);
  }
  if (t.feedback) box.append(make("p", { dir: "auto" }, `feedback: ${visible(t.feedback)}`));
  box.onclick = () => { if (getSelection().isCollapsed) goTo(i + 1); };
  return box;
}

// ---- The stage: one episode, or all of its maze side by side ----------------------------------------------

function buildStage() {
  const episode = data.episodes[current];
  byId("facts").replaceChildren(...facts(episode));
  byId("group").setAttribute("aria-pressed", together);
  byId("ticks").replaceChildren(...episode.turns.map((t, i) => {
    const name = `Turn ${i + 1}: ${actionText(t)}`;
    const glyph = t.failure !== null ? "?" : (t.action ?? "").split(",").map((word) => ARROWS[word] ?? "•").join("");
    const tick = make("button", { class: kind(episode, i), title: name, "aria-label": name }, glyph);
    tick.onclick = () => goTo(i + 1);
    return tick;
  }));
  pictures = [];
  byId("stage").replaceChildren(...(together ? sections(episode) : [stagePicture(episode)]));
}

function stagePicture(episode) {
  const drawn = picture(data.mazes[episode.maze]);
  pictures.push([drawn, episode]);
  return drawn.node;
}

function sections(episode) {
  const groups = new Map();
  data.episodes.forEach((other, i) => {
    if (other.maze === episode.maze) groups.set(other.together, [...(groups.get(other.together) ?? []), i]);
  });
  return [...groups.values()].flatMap((members) => {
    const first = data.episodes[members[0]];
    const name = first.group === null ? "one maze" : `group ${first.group}`;
    const widest = Math.max(...members.map((i) => Math.abs(data.episodes[i].advantage ?? 0)), 1e-9);
    return [
      make("h2", {}, visible(`${data.sources[first.source]} · ${name} · ${members.length} played`)),
      make("div", { class: "cards" }, ...members.map((i) => card(i, widest))),
    ];
  });
}

function card(i, widest) {
  const episode = data.episodes[i], { advantage } = episode;
  const box = make("button", { class: "card", "data-card": i }, stagePicture(episode),
    make("span", {}, make("b", { class: colour(episode.outcome) }, label(episode.outcome)), `#${i}`),
    make("span", { class: "muted" }, number(episode.reward),
      make("span", {}, advantage === null ? "" : `adv. ${signed(advantage)}`)));
  if (advantage !== null) {
    const bar = make("i", { class: advantage > 0 ? "up" : "down" });
    bar.style.width = `${50 * Math.abs(advantage) / widest}%`;
    bar.style[advantage > 0 ? "left" : "right"] = "50%";
    box.append(make("div", { class: "bar" }, bar));
  }
  setCurrent(box, i === current);
  box.onclick = () => { together = false; select(i); };
  return box;
}

const longest = () => Math.max(...pictures.map(([, { turns }]) => turns.length));

function goTo(count, moving = false) {
  turn = Math.max(0, Math.min(count, longest()));
  for (const [drawn, episode] of pictures) drawn.show(episode, turn, moving && turn <= episode.turns.length);
  const here = Math.min(turn, data.episodes[current].turns.length);
  [...byId("ticks").children].forEach((tick, i) => setCurrent(tick, i + 1 === here));
  [...byId("log").children].forEach((box, i) => setCurrent(box, i + 1 === here));
  for (const column of [byId("ticks"), byId("log")]) follow(column, column.children[here - 1]);
}

/** Scroll a part of a column into sight, and nothing but the column: on a phone the page would jump. */
function follow(column, part) {
  if (!part || column.scrollHeight <= column.clientHeight) return;
  const top = part.offsetTop - column.offsetTop;
  const inside = top >= column.scrollTop && top + part.offsetHeight <= column.scrollTop + column.clientHeight;
  if (!inside) column.scrollTop = top - column.clientHeight / 3;
}

// ---- What a person does ---------------------------------------------------------------------------------

function play() {
  if (turn >= longest()) goTo(0);
  timer = setInterval(() => (turn < longest() ? goTo(turn + 1, true) : pause()), 1000 * SECONDS_PER_TURN);
  playing(true);
}

function pause() {
  clearInterval(timer);
  timer = null;
  playing(false);
}

function playing(on) {
  byId("play").firstChild.data = on ? "⏸\uFE0E" : "▶\uFE0E";
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
}

function step(by) {
  pause();
  goTo(turn + by, by > 0);
}

function other(by) {
  const at = shown.indexOf(current) + by;
  if (at >= 0 && at < shown.length) select(shown[at]);
}

function sideBySide() {
  together = !together;
  buildStage();
  goTo(turn);
}

const COMMANDS = {
  previous: () => other(-1),
  back: () => step(-1),
  play: () => (timer === null ? play() : pause()),
  forward: () => step(1),
  next: () => other(1),
  group: sideBySide,
};
const KEYS = {
  ArrowLeft: "back", ArrowRight: "forward", ArrowUp: "previous", ArrowDown: "next",
  k: "previous", j: "next", " ": "play", g: "group",
};

document.addEventListener("keydown", (event) => {
  const command = KEYS[event.key];
  if (!command || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && event.target.closest("button")) return; // it presses that button
  event.preventDefault();
  COMMANDS[command]();
});
// A button that was clicked gives the focus back, so that the space key plays.
document.addEventListener("click", (event) => { if (event.detail > 0) document.activeElement?.blur(); });

async function open() {
  data = await unpack();
  for (const [id, command] of Object.entries(COMMANDS)) byId(id).onclick = command;
  document.title = byId("title").textContent = visible(data.title);
  const solved = data.episodes.filter(({ outcome }) => outcome === "goal").length;
  const share = (100 * solved / data.episodes.length).toFixed(1);
  byId("summary").textContent = `${data.episodes.length} episodes, ${solved} solved (${share} %), ${data.mazes.length} mazes`;
  buildFilters();
  buildList();
  select(0);
  document.body.dataset.ready = "";
}

open().catch((error) => { byId("summary").textContent = `This page can't be shown here: ${error.message}`; });
