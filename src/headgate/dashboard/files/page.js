// The page: what is heard once a second, shown in its parts.

import { by, offer, say } from "./dom.js";
import { load } from "./charts.js";
import { Flow } from "./flow.js";
import { Keys } from "./keys.js";
import { Past } from "./past.js";
import { Simulation } from "./simulation.js";
import { house, refusals, reload, rules, top } from "./tables.js";
import { Trials } from "./trial.js";
import { clock } from "./numbers.js";
import { Line, known, login, logout, post } from "./wire.js";

const WORDS = { connecting: "connecting", live: "live", lost: "connection lost", paused: "paused", unknown: "logged out" };
const past = new Past();
let reading = null;
let chosen = "";
let saying = 0;

const flow = new Flow(past);
const keys = new Keys(tell);
const trials = new Trials(past, tell);
const simulation = new Simulation();
const line = new Line({ state: turn, history: (said) => past.learn(said), beat });

function tell(text) {
  const said = by("said");
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(saying);
  saying = setTimeout(() => said.classList.remove("shown"), 6000);
}

function turn(state) {
  const before = document.body.dataset.state;
  if (before === state) return;
  document.body.dataset.state = state;
  say(by("state-word"), WORDS[state]);
  const lost = state === "lost";
  by("lost").hidden = !lost;
  if (lost) say(by("lost"), reading ? `The connection is lost. What you see is of ${clock(reading.at)}; this page comes back by itself.` : "Nobody answers here yet; this page comes back by itself.");
  if (before === "lost" && state === "live") tell("Connected again.");
  if (state === "unknown") enter(false);
}

function enter(welcome) {
  by("entry").hidden = welcome;
  by("board").hidden = by("logout").hidden = by("parts").hidden = !welcome;
  if (welcome) line.open();
  else {
    line.close();
    by("token").focus();
  }
}

function beat({ reading: told, point }) {
  past.add(point);
  reading = told;
  draw();
  keys.again();
  trials.learn(told).catch(() => {});
}

function draw() {
  if (!reading) return;
  document.title = `headgate ${reading.serves}`;
  say(by("serves"), reading.serves);
  const names = Object.keys(reading.rules);
  const tried = reading.trial ? [[reading.trial.name, "the one on trial"]] : [];
  offer(by("flow-rule"), names, [["", "all rules"]], tried);
  offer(by("look-rule"), names, [], tried);
  flow.figures(reading);
  flow.draw();
  rules(reading, past, chosen, choose);
  reload(reading);
  top(reading, look, lift);
  refusals(reading);
  trials.show(reading);
  house(reading);
}

function choose(name) {
  chosen = chosen === name ? "" : name;
  flow.choose(chosen);
  if (chosen && reading.top[chosen]) by("top-rule").value = chosen;
  if (chosen) by("look-rule").value = chosen;
  draw();
}

const look = (rule, key) => keys.look(rule, key);
const lift = (rule, key) => keys.lift(rule, key).catch(() => tell("It was not lifted: nobody answers."));

by("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { good, status, wait } = await login(by("token").value);
    by("token").value = "";
    if (good) {
      say(by("login-said"), "");
      enter(true);
      by("main").focus();
    } else say(by("login-said"), status === 429 ? `Too many wrong tokens; try again in ${wait} s.` : "This is not the token.");
  } catch {
    say(by("login-said"), "Nobody answers.");
  }
});

by("logout").addEventListener("click", async () => {
  await logout().catch(() => {});
  turn("unknown");
});

by("reread").addEventListener("click", async () => {
  const { good, said } = await post("/reload").catch(() => ({ good: false, said: {} }));
  tell(good ? "The rules were read again." : `The rules stay as they were: ${said.problems?.[0] ?? "nobody answers"}`);
});

for (const id of ["top-rule", "top-by"]) by(id).addEventListener("change", draw);
by("refusal-filter").addEventListener("input", draw);

const THEMES = ["auto", "light", "dark"];
function themed(next) {
  const root = document.documentElement;
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  say(by("theme"), `theme: ${next}`);
  try {
    localStorage.setItem("headgate-theme", next);
  } catch {
    // It holds until the page is left.
  }
  flow.draw();
  simulation.draw();
}
say(by("theme"), `theme: ${document.documentElement.dataset.theme ?? "auto"}`);
by("theme").addEventListener("click", () => themed(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % 3]));
for (const media of ["(prefers-color-scheme: dark)", "(max-width: 760px)"])
  matchMedia(media).addEventListener("change", () => { flow.draw(); simulation.draw(); });

load().then((install) => {
  by("uncharted").hidden = !install;
  say(by("uncharted"), install ? `Charts need plotly; without it there are tables. To have them: ${install}` : "");
  flow.draw();
  simulation.draw();
}).catch(() => {});

// Where nobody answers, it may be that they soon do.
known().then((welcome) => (welcome ? enter(true) : turn("unknown"))).catch(() => enter(true));
