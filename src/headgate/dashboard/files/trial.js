// A trial: a rule in shadow, beside those in force, and what it would have cut.

import { bar, by, fill, make, offer } from "./dom.js";
import { count, percent, rate, span } from "./numbers.js";
import { get, post } from "./wire.js";
import { list } from "./tables.js";

const EXAMPLE = `key: client.ip
match: {path: /**}
limit: 10/s burst 20
`;

export class Trials {
  constructor(past, tell) {
    this.past = past;
    this.tell = tell;
    this.rules = {};
    this.version = "";
    by("trial-text").value = EXAMPLE;
    by("trial-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    by("trial-end").addEventListener("click", () => this.end());
    by("trial-from").addEventListener("change", () => this.copy(by("trial-from").value));
  }

  // The rules as they are written, whenever they are others.
  async learn(reading) {
    if (reading.version === this.version) return;
    const { version } = reading;
    const { said } = await get("/rules");
    if (!said) return;
    this.version = version;
    this.rules = Object.fromEntries(said.rules.map((one) => [one.name, one.rule]));
    offer(by("trial-from"), Object.keys(this.rules), [["", "an example"]]);
  }

  copy(name) {
    by("trial-text").value = name ? written(this.rules[name]) : EXAMPLE;
    list(by("trial-problems"), []);
  }

  async begin() {
    const { good, said } = await post("/trial", { text: by("trial-text").value });
    list(by("trial-problems"), good ? [] : said.problems ?? [said.status ?? "it was not answered"]);
    this.tell(good ? "The rule is tried in shadow from now on." : "The rule is not tried; what is wrong with it stands below it.");
    if (!good) by("trial-text").focus();
  }

  async end() {
    const { good } = await post("/trial", { rule: null });
    if (good) this.tell("The trial is over.");
  }

  show(reading) {
    const trial = reading.trial;
    by("trial-end").disabled = !trial;
    if (!trial) return fill(by("trial-result"), [make("p", { class: "empty" }, "Nothing is tried at the moment. What a rule would have cut is shown here, while it cuts nothing.")]);
    const all = trial.allowed + trial.shadowed;
    const share = all ? trial.shadowed / all : 0;
    const now = this.past.lately(5, trial.name)[3];
    fill(by("trial-result"), [
      make("p", { class: "big" }, make("strong", {}, percent(share)), ` of ${count(all)} would have been refused`),
      bar(share, "shadowed", `${percent(share)} would have been refused`),
      make("p", {}, make("strong", { id: "trial-cut" }, count(trial.shadowed)), " cut, ", make("strong", {}, count(trial.allowed)), ` let in, in ${span(Math.max(0, reading.at - trial.since))}; ${rate(now)} a second at the moment`),
      make("pre", {}, written(trial.rule)),
      trial.keys.length ? make("table", { class: "grid" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "whom it would have cut"), make("th", { scope: "col", class: "n" }, "times"))),
        make("tbody", {}, trial.keys.slice(0, 8).map((one) => make("tr", {}, make("td", { class: "mono key", title: one.key }, one.key || "(no key)"), make("td", { class: "n" }, count(one.shadowed)))))) : null,
    ]);
  }
}

// Plain data as a rule file has it; all that could be read in two ways stands in quotes.
export function written(data, indent = "") {
  return Object.entries(data).map(([word, value]) => `${indent}${scalar(word)}:${nested(value, indent)}\n`).join("");
}

function nested(value, indent) {
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object") ? ` [${value.map(scalar).join(", ")}]` : value.map((one) => `\n${indent}  - ${flow(one)}`).join("");
  if (value !== null && typeof value === "object") return `\n${written(value, `${indent}  `)}`.replace(/\n$/, "");
  return ` ${scalar(value)}`;
}

const flow = (one) => (one !== null && typeof one === "object" ? JSON.stringify(one) : scalar(one));
const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./ -]*[A-Za-z0-9_/-]$|^[0-9]+\/(s|min|h|day)( burst [0-9]+)?$/;
const scalar = (one) => (typeof one === "string" && (!PLAIN.test(one) || /^(true|false|null|yes|no|on|off|y|n)$/i.test(one)) ? JSON.stringify(one) : String(one));
