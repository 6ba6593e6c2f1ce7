"use strict";
// One item at a time: show it, send what was said, show the next. Nothing is kept here but the name.
const byId = (id) => document.getElementById(id);
const labels = JSON.parse(document.body.dataset.labels);
let who = "", item = null, busy = false, waiting = 0;

function say(text, bad) { const out = byId("say"); out.textContent = text; out.classList.toggle("bad", Boolean(bad)); }

async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const told = await answer.json().catch(() => ({ error: "the answer was not understood" }));
  if (!answer.ok) throw Object.assign(new Error(told.error || "something went wrong"), { status: answer.status });
  return told;
}

async function act(path, body) {
  if (busy) return;
  busy = true; byId("item").classList.add("busy");
  for (const button of document.querySelectorAll("button")) button.disabled = true;
  try { const told = await post(path, { annotator: who, ...body }); say(""); show(told); }
  catch (error) {
    say(error.message, true);
    if (error.status === 409) { try { show(await post("/api/next", { annotator: who })); } catch (again) { say(again.message, true); } }
  }
  busy = false; byId("item").classList.remove("busy");
  for (const button of document.querySelectorAll("button")) button.disabled = false;
}

function show(told) {
  progress(told.progress);
  item = told.item;
  byId("item").hidden = byId("choices").hidden = item === null;
  byId("more").hidden = false; byId("skip").hidden = item === null;
  clearTimeout(waiting);
  if (item === null) {
    byId("item-id").textContent = "";
    say(told.progress.ended ? "All done. Thank you! You may close this page." : "Nothing for you right now; the next item comes by itself.");
    if (!told.progress.ended) waiting = setTimeout(() => act("/api/next", {}), 1500);
    return;
  }
  byId("item-id").textContent = "Item " + item.id;
  byId("fields").replaceChildren(fields(item.fields));
  byId("item").focus({ preventScroll: true });
}

function fields(list) {
  const all = document.createElement("dl");
  for (const field of list) {
    const name = document.createElement("dt"), value = document.createElement("dd");
    name.textContent = field.name;
    if (field.kind === "text") value.textContent = field.value;
    else {
      const media = document.createElement(field.kind === "image" ? "img" : "audio");
      media.src = "/media/" + field.value.split("/").map(encodeURIComponent).join("/");
      if (field.kind === "image") media.alt = field.name; else media.controls = true;
      value.append(media);
    }
    all.append(name, value);
  }
  return all;
}

function progress(now) {
  const left = now.left === null ? "" : ", " + now.left + " left";
  byId("count").textContent = now.labels + (now.labels === 1 ? " label" : " labels") + left;
  const most = Math.max(1, ...now.masses.map((point) => point[0]));
  const points = now.masses.map(([x, y]) => (120 * x / most).toFixed(1) + "," + (31 - 30 * Math.min(1, y)).toFixed(1));
  byId("plot").querySelector("polyline").setAttribute("points", points.join(" "));
}

byId("who").addEventListener("submit", (event) => {
  event.preventDefault();
  who = byId("name").value.trim();
  if (!who) return;
  byId("who").hidden = true;
  try { localStorage.setItem("replical-name", who); } catch (error) { /* private windows have no storage */ }
  act("/api/next", {});
});
labels.forEach((label, number) => {
  const button = document.createElement("button");
  button.type = "button"; button.append(label);
  if (number < 9) { const key = document.createElement("kbd"); key.textContent = String(number + 1); button.append(key); }
  button.addEventListener("click", () => item && act("/api/answer", { item: item.id, label }));
  byId("choices").append(button);
});
byId("skip").addEventListener("click", () => item && act("/api/skip", { item: item.id }));
byId("undo").addEventListener("click", () => act("/api/undo", {}));
document.addEventListener("keydown", (event) => {
  if (!who || event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = Number(event.key);
  if (item && number >= 1 && number <= Math.min(9, labels.length)) act("/api/answer", { item: item.id, label: labels[number - 1] });
  else if (item && event.key === "s") act("/api/skip", { item: item.id });
  else if (event.key === "u") act("/api/undo", {});
});
try { byId("name").value = localStorage.getItem("replical-name") || ""; } catch (error) { /* no storage */ }
