// The tables: rules, keys, refusals, and what the house is made of.

import { bar, by, fill, make, offer, say } from "./dom.js";
import { clock, count, percent, rate, span } from "./numbers.js";

const ROWS = 200;

export function rules(reading, past, chosen, choose) {
  const names = Object.keys(reading.rules);
  // Of very many, those that do something, and the one that was chosen; in the order of the file.
  const busy = new Set([chosen, ...names.length > ROWS ? past.busy(60, ROWS) : []]);
  const rest = names.filter((name) => !busy.has(name)).slice(0, Math.max(0, ROWS - busy.size));
  const kept = new Set([...busy, ...rest]);
  fill(by("rule-rows"), [...names.filter((name) => kept.has(name)).map((name) => row(name, reading, past, chosen, choose)),
    names.length > ROWS ? none(10, `${count(names.length - ROWS)} more did less in the last minute; choose one above to see it here.`) : null]);
}

function row(name, reading, past, chosen, choose) {
  const rule = reading.rules[name];
  const [allowed, delayed, refused, shadowed, failed] = past.lately(5, name);
  const minute = past.lately(60, name);
  const all = minute[0] + minute[1] + minute[2] + minute[4];
  const cut = all ? minute[2] / all : 0;
  const shadow = rule.mode === "shadow";
  const wouldBe = all ? minute[3] / all : 0;
  return make("tr", { class: name === chosen ? "chosen" : "" },
    make("th", { scope: "row" }, make("button", { type: "button", class: "plain name", "data-at": `rule ${name}`, "aria-pressed": String(name === chosen), click: () => choose(name) }, name),
      shadow ? tag("shadow", "shadowed") : rule.rollout < 100 ? tag(`${rule.rollout} %`, "delayed") : null),
    make("td", { class: "terms" }, rule.terms.join(" · ")),
    rule.key ? make("td", { class: "mono" }, rule.key) : make("td", { class: "quiet" }, "all together"),
    make("td", { class: "n" }, rate(allowed + delayed)),
    make("td", { class: `n ${refused ? "is-refused" : ""}` }, rate(refused + failed)),
    make("td", {}, make("span", { class: "share" }, bar(shadow ? wouldBe : cut, shadow ? "shadowed" : "refused", `${percent(shadow ? wouldBe : cut)} ${shadow ? "would be refused" : "refused"}`), make("span", { class: "n" }, all ? percent(shadow ? wouldBe : cut) : "–"))),
    make("td", { class: "n" }, rule.shadowed ? count(rule.shadowed) : "–"),
    make("td", { class: "n" }, rule.near ? count(rule.near) : "–"),
    make("td", { class: "n" }, rule.limit == null ? "–" : `${count(rule.inside)} of ${count(rule.limit)}`),
    make("td", { class: "tags" }, states(name, rule, reading, minute[4])));
}

function states(name, rule, reading, failed) {
  const found = [];
  if (rule.breaker === "open") found.push(tag("breaker open", "refused"));
  else if (rule.breaker === "half_open") found.push(tag("breaker trying", "delayed"));
  if (rule.waiting + rule.queue) found.push(tag(`${count(rule.waiting + rule.queue)} wait`, "delayed"));
  if (failed) found.push(tag("decided without its store", "delayed"));
  for (const alert of reading.alerts) if (alert.rule === name && alert.level === "raised") found.push(tag(alert.name, "refused"));
  return found.length ? found : make("span", { class: "quiet" }, "well");
}

export const tag = (text, kind = "") => make("span", { class: `tag ${kind}` }, text);

export function reload(reading) {
  const { version, at, result, problems } = reading.reload;
  const words = { ok: "as they stand there", bad: "newer ones are bad, and were not taken", unread: "newer ones could not be read" };
  fill(by("reload"), [
    make("span", {}, "version "), make("code", {}, version || reading.version),
    at ? make("span", {}, ` since ${clock(at)}`) : null, make("span", {}, ", "),
    make("span", { class: `tag ${result === "ok" ? "good" : "refused"}` }, words[result] ?? result),
  ]);
  list(by("problems"), problems);
  const raised = reading.alerts.filter((one) => one.level === "raised");
  by("alerts").hidden = !raised.length;
  fill(by("alerts"), raised.map((one) => make("li", {}, make("strong", {}, one.name), ` ${one.kind.replaceAll("_", " ")}${one.rule ? ` at ${one.rule}` : ""}${much(one)}; since ${clock(one.since)}`)));
}

// What is so or not has no number; the others are times, numbers of requests, or shares.
const STATES = ["breaker", "degraded", "reload"];
const TIMES = ["checks", "latency"];
const NUMBERS = ["queue", "restarts"];

function much({ kind, value, threshold }) {
  if (STATES.includes(kind)) return "";
  const shown = TIMES.includes(kind) ? span : NUMBERS.includes(kind) ? rate : percent;
  return `: ${shown(value)}, and ${shown(threshold)} is too much`;
}

export function list(node, problems) {
  node.hidden = !problems?.length;
  fill(node, (problems ?? []).map((one) => make("li", {}, one)));
}

export function top(reading, look, lift) {
  const names = Object.keys(reading.top);
  offer(by("top-rule"), names);
  const rule = by("top-rule").value;
  const told = reading.top[rule];
  const word = by("top-by").value;
  const rows = (told?.[word] ?? []).map((one) => make("tr", {},
    make("td", { class: "mono key", title: one.key }, one.key || make("span", { class: "quiet" }, "(none)")),
    make("td", { class: "n" }, count(one.asked)), make("td", { class: `n ${one.refused ? "is-refused" : ""}` }, count(one.refused)),
    make("td", { class: "n quiet" }, one.error ? count(one.error) : ""),
    make("td", { class: "deeds" },
      make("button", { type: "button", class: "small", "data-at": `look ${one.key}`, "aria-label": `look at ${one.key}`, click: () => look(rule, one.key) }, "look"),
      make("button", { type: "button", class: "small", "data-at": `lift ${one.key}`, "aria-label": `lift ${one.key}`, click: () => lift(rule, one.key) }, "lift"))));
  fill(by("top-rows"), rows.length ? rows : [none(5, told ? "Nobody was refused here lately." : "No key was seen yet.")]);
  say(by("top-said"), told ? `${count(told.total)} asked in the last ${span(told.span)}; what is counted is bounded, so numbers may be too large by what stands at ±, and never too small.` : "");
}

const none = (columns, text) => make("tr", {}, make("td", { colspan: columns, class: "empty" }, text));

const WHY = { limit: "too much", capacity: "full", denied: "denied", key: "no key", unavailable: "store away" };

export function refusals(reading) {
  const wanted = by("refusal-filter").value.trim().toLowerCase();
  const fits = (one) => !wanted || [one.rule, one.key, one.client, one.path, one.host, one.kind, one.decision].some((word) => String(word).toLowerCase().includes(wanted));
  const rows = reading.refusals.filter(fits).map((one) => make("tr", { class: one.shadow ? "shadow" : "" },
    make("td", { class: "mono", title: one.time }, one.time.slice(11, 19)),
    make("td", {}, one.rule, one.shadow ? tag("shadow", "shadowed") : null),
    make("td", { title: one.reason }, WHY[one.kind] ?? one.kind, one.reason && one.reason !== one.kind ? make("span", { class: "quiet" }, ` ${one.reason}`) : null),
    make("td", { class: "n" }, one.status || "–"),
    make("td", { class: "mono key", title: `${one.method} ${one.host}${one.path}` }, `${one.method} ${one.host}${one.path}`),
    make("td", { class: "mono key", title: one.client }, one.client), make("td", { class: "mono key", title: one.key }, one.key),
    make("td", { class: "n" }, one.retry_after ? span(one.retry_after) : "–")));
  fill(by("refusal-rows"), rows.length ? rows : [none(8, wanted ? "None of the latest refusals has that in it." : "Nobody was refused lately.")]);
}

export function house(reading) {
  const store = reading.store;
  fill(by("cards"), [
    card("Store", store.degraded ? tag("out of reach", "refused") : tag("well", "good"), [
      ["where", make("code", {}, store.url)],
      ["keys", store.keys == null ? "–" : `${count(store.keys)}${store.capacity ? ` of ${count(store.capacity)}` : ""}`],
      ["given up for room", count(store.evicted)],
      ["answered by itself for", span(store.degraded_seconds)],
      ["errors", Object.entries(store.errors).map(([kind, times]) => `${kind} ${count(times)}`).join(", ") || "none"],
    ]),
    card("Workers", "", reading.workers.map((one) => [`${one.slot}: process ${one.pid || "–"}`,
      make("span", {}, one.up ? null : tag("down", "refused"), `${count(one.connections)} connections, ${count(one.requests)} requests${one.restarts ? `, replaced ${one.restarts}×` : ""}`)])),
    ...Object.entries(reading.upstreams).map(([name, group]) => upstream(name, group)),
    Object.keys(reading.routes).length ? card(reading.serves === "service" ? "Protocols" : "Routes", "", Object.entries(reading.routes).map(([name, route]) => [name, statuses(route)])) : null,
    reading.budget ? card("Budget", "", Object.entries(reading.budget).map(([word, number]) => [word.replaceAll("_", " "), count(number)])) : null,
  ]);
}

const statuses = (route) => Object.entries(route.statuses).filter(([, times]) => times).map(([status, times]) => `${status} ${count(times)}`).join(" · ") || `${count(route.requests)} requests`;

function upstream(name, group) {
  const servers = Array.isArray(group) ? group : Object.entries(group.servers ?? group).map(([server, told]) => (typeof told === "object" ? { name: server, ...told } : { name: server, told }));
  return card(`Upstream ${name}`, "", servers.map((one) => [String(one.name ?? one.url ?? ""), words(one)]));
}

const words = (one) => Object.entries(one).filter(([word, given]) => word !== "name" && word !== "url" && typeof given !== "object").map(([word, given]) => (given === true ? word : given === false ? `not ${word}` : `${word.replaceAll("_", " ")} ${given}`)).join(" · ");

function card(title, state, rows) {
  return make("section", { class: "card" }, make("h3", {}, title, " ", state || null),
    make("dl", {}, rows.flatMap(([word, said]) => [make("dt", {}, word), make("dd", {}, said)])));
}
