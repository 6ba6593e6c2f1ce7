"use strict";
// One item at a time: show it, send what was said, show the next. Who says it is in a cookie that nothing here can read.
const LOOK = 500, PATIENCE = 30000, PICTURES = 5000, TAP = 350; // milliseconds
const FRAME = 8; // pixels around the item that its frame needs
const SIDE = 256; // pixels that a small picture is enlarged to, at most
const LOST = "No answer from the server. Please try again: nothing is counted twice. If the run has ended, you are done.";
const AGAIN = "No answer from the server; trying again. If the run has ended, you are done.";
const MINE = "Your name in this browser. Somebody else needs another browser, or a personal link.";
const CLOSED = "This page is for people with a personal link. Please open yours.";
const WAIT = "Nothing for you right now; the next item comes by itself.";
const byId = (id) => document.getElementById(id);
const labels = JSON.parse(document.body.dataset.labels), counts = document.body.dataset.counts.split(","), heads = JSON.parse(document.body.dataset.heads), judges = heads.length > 0;
// Labels that are digits have themselves for keys; others are counted from 1.
const keys = labels.every((label) => /^\d$/.test(label)) ? labels : labels.slice(0, 9).map((_, number) => String(number + 1));
let who = "", item = null, ended = false, busy = false, looking = false, acts = 0, touched = -TAP, unsure = {};

const pause = (time) => new Promise((done) => setTimeout(done, time));
const random = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(16).padStart(8, "0");

function keep(storage, key, value) { // private windows may have no storage
  try { if (value !== undefined) window[storage].setItem(key, value); return window[storage].getItem(key) || ""; } catch (error) { return ""; }
}

function say(text, bad = false) {
  if (byId("say").textContent !== text) byId("say").textContent = text; // what is written again is read out again
  byId("say").classList.toggle("bad", bad);
}

async function ask(path, body) {
  const post = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...post, signal: AbortSignal.timeout?.(PATIENCE) }).catch(() => null);
  const told = answer && await answer.json().catch(() => null);
  if (answer && !answer.ok) throw Object.assign(new Error(told?.error || LOST), { status: answer.status });
  if (!told) throw new Error(LOST);
  return told;
}

// Whatever was sent in vain is sent again with the same turn, and the server does it once.
async function act(path, said = {}, done = "") {
  if (busy) return;
  busy = true; acts += 1; byId("main").classList.add("busy");
  const waits = path === "/api/next", words = path + JSON.stringify(said);
  if (!waits) say("");
  if (!waits && unsure.words !== words) unsure = { words, turn: random() };
  const slow = setTimeout(() => waits || say("One moment …"), 1000);
  try {
    try { await show(await ask(path, { turn: unsure.turn, ...said }), done); }
    catch (error) {
      if (error.status !== 409) throw error;
      await show(await ask("/api/next", {}), error.message, true);
    }
    if (!waits) unsure = {};
  } catch (error) {
    if (error.status === 401) leave(); // the name went to somebody else, or the cookie is gone
    say(waits && !error.status ? AGAIN : error.message, true);
  }
  clearTimeout(slow);
  busy = false; byId("main").classList.remove("busy");
}

// What others do: counts move, items come, the run ends.
async function look() {
  if (busy || looking || ended) return;
  if (who && item === null) { act("/api/next"); return; }
  looking = true;
  const before = acts;
  try {
    const now = await ask("/api/progress");
    if (acts === before) { if (now.ended) await show({ progress: now, item: null }); else progress(now); }
  } catch (error) { /* whoever answers next will hear of it */ }
  looking = false;
}

async function show(told, text = "", bad = false) {
  progress(told.progress);
  const before = item, same = before && told.item && before.id === told.item.id && String(before.outputs) === String(told.item.outputs);
  const list = told.item && !same && fields(told.item);
  if (list) { // nobody answers what they have not seen
    await pictures(list);
    await pause(touched + TAP - performance.now());
  }
  item = told.item; ended = item === null && told.progress.ended;
  for (const id of ["jump", "item", "choices", "skip", "help"]) byId(id).hidden = item === null;
  const shown = item !== null && judges && item.outputs.length > 0; // an item is skipped before its outputs are seen
  byId("reveal").hidden = item === null || !judges || shown;
  if (judges && !shown) byId("choices").hidden = true;
  if (shown) byId("skip").hidden = true;
  byId("who").hidden = ended || who !== "";
  byId("more").hidden = ended;
  if (item === null) {
    byId("item-id").textContent = ""; byId("fields").replaceChildren();
    if (!document.activeElement.offsetParent) byId("main").focus(); // it was on something that has gone
    say(ended ? "All done. Thank you! You may close this page." + agreement(told.progress) : WAIT);
    return;
  }
  say(text, bad);
  if (same) return;
  byId("item-id").textContent = "Item " + item.id;
  byId("fields").replaceChildren(list);
  byId("item").focus({ preventScroll: true });
  reveal(byId("item").getBoundingClientRect());
}

// All of it with its frame, if there is room above the labels; else its beginning.
function reveal(box) {
  const foot = byId("foot"), stuck = getComputedStyle(foot).position === "sticky" ? foot.offsetHeight : 0;
  const end = innerHeight - stuck - FRAME, fits = box.height <= end - FRAME;
  if (box.top < FRAME || box.top > innerHeight / 2 || (fits && box.bottom > end)) scrollBy(0, box.top - (fits ? Math.max(FRAME, end - box.height) : FRAME));
}

function fields(next) {
  const all = document.createElement("dl");
  for (const field of next.fields) {
    const name = document.createElement("dt"), value = document.createElement("dd");
    name.textContent = field.name;
    name.dir = value.dir = "auto";
    if (field.kind === "text") value.textContent = field.value;
    else {
      const media = document.createElement(field.kind === "image" ? "img" : "audio");
      if (field.kind === "image") media.alt = field.name + " of item " + next.id;
      else { media.controls = true; media.setAttribute("aria-label", field.name); }
      media.src = field.source;
      value.append(media);
    }
    all.append(name, value);
  }
  for (const [number, output] of (next.outputs || []).entries()) {
    const name = document.createElement("dt"), value = document.createElement("dd");
    name.textContent = heads[number];
    value.textContent = output; value.className = "output"; value.dir = "auto";
    all.append(name, value);
  }
  return all;
}

function pictures(list) {
  const all = [...list.querySelectorAll("img")].map((picture) => picture.decode().then(() => enlarge(picture)));
  return all.length && Promise.race([Promise.allSettled(all), pause(PICTURES)]);
}

// A whole number of times, so that all of its pixels are alike; larger pictures stay as they are.
function enlarge(picture) {
  const side = Math.max(picture.naturalWidth, picture.naturalHeight), times = Math.floor(SIDE / side);
  if (times < 2) return;
  picture.classList.add("small");
  picture.width = times * picture.naturalWidth; picture.height = times * picture.naturalHeight;
}

const percent = (share) => (100 * share).toFixed(share < .1 ? 1 : 0) + "%";

function agreement(now) {
  return now.agreement && now.agreement.pairs ? " Two people agreed on " + percent(now.agreement.same) + " of what both labelled." : "";
}

// What is left: an estimate, a limit, both or neither, as far as the run knows.
function left(now) {
  if (now.ended) return "";
  const about = now.about && (now.left === null || now.about < now.left) && "about " + now.about.toLocaleString("en") + " left";
  const most = now.left !== null && "at most " + now.left.toLocaleString("en") + (about ? "" : " more");
  return ", " + ([about, most].filter(Boolean).join(", ") || now.open + " waiting for a label");
}

function progress(now) {
  byId("count").textContent = now.labels + " " + counts[now.labels === 1 ? 0 : 1] + left(now)
    + (now.within ? "; proven so far: the public favourite is within " + now.within + " of the best" : "");
}

function leave() {
  who = ""; item = null;
  for (const id of ["jump", "item", "choices", "reveal", "more", "help"]) byId(id).hidden = true;
  byId("who").hidden = false; byId("me").textContent = "";
}

byId("who").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  busy = true;
  const name = byId("name").value.trim();
  keep("localStorage", "replical-name", name);
  try { who = (await ask("/api/join", { name })).name; say(""); }
  catch (error) { say(error.message, true); byId("say").scrollIntoView({ block: "nearest" }); }
  busy = false;
  if (!who) return;
  byId("me").textContent = who;
  byId("who").hidden = true;
  if (byId("rules")) byId("rules").open = false;
  act("/api/next");
});

// The second click of a double click would answer an item that nobody has read; the second tap comes before the item.
document.addEventListener("touchend", () => { touched = performance.now(); }, { passive: true });
function press(button, action) { button.addEventListener("click", (event) => { if (event.detail < 2) action(); }); }
const answer = (label) => { if (item && !byId("choices").hidden) act("/api/answer", { item: item.id, label, ...(judges && { outputs: item.outputs }) }); };
const skip = () => { if (item && !byId("skip").hidden) act("/api/skip", { item: item.id }); };
const unveil = () => { if (item && !byId("reveal").hidden) act("/api/show", { item: item.id }); };
const undo = () => act("/api/undo", {}, "Your last answer is taken back.");

function key(text) { const made = document.createElement("kbd"); made.textContent = text; return made; }
labels.forEach((label, number) => {
  const button = document.createElement("button"), text = document.createElement("span");
  button.type = "button"; text.dir = "auto"; text.textContent = label; button.append(text);
  if (keys[number]) {
    button.setAttribute("aria-keyshortcuts", keys[number]);
    button.append(key(keys[number]));
    button.lastChild.setAttribute("aria-hidden", "true");
  }
  press(button, () => answer(label));
  byId("choices").append(button);
});
press(byId("skip"), skip);
press(byId("reveal"), unveil);
press(byId("undo"), undo);
document.addEventListener("keydown", (event) => {
  if (event.repeat && event.target.closest("button")) event.preventDefault(); // Enter held down
  if (event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!who || !byId("keys").checked || event.target === byId("name")) return;
  const number = keys.indexOf(event.key), letter = event.shiftKey ? "" : event.key.toLowerCase();
  if (number >= 0) answer(labels[number]);
  else if (event.key === "?") skip();
  else if (event.key === "Enter" && !event.target.closest("button, a, input, summary")) unveil();
  else if (letter === "u" && !ended) undo();
});
byId("range").append(...keys.flatMap((text) => [key(text), " "]));
const short = labels.every((label) => label.length <= 2);
byId("foot").classList.toggle("few", (labels.length <= 4 && labels.join("").length <= 60) || (short && labels.length <= 7)); // more would cover the item
byId("choices").classList.toggle("short", short);
byId("name").value = document.body.dataset.name || keep("localStorage", "replical-name");
if (document.body.dataset.may === "keep") { byId("name").readOnly = true; byId("name-hint").textContent = MINE; }
if (document.body.dataset.may === "nothing") { byId("who").hidden = true; say(CLOSED); }
look();
let ticks = 0;
setInterval(() => { ticks += 1; if ((who && item === null) || ticks % 3 === 0) look(); }, LOOK); // who waits looks more often
