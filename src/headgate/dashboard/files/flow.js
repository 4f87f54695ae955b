// Flow: the figures at the top, and the four charts.

import { by, fill, make, say } from "./dom.js";
import { Chart, colour, dash, hues, plain } from "./charts.js";
import { count, percent, rate, span } from "./numbers.js";

const { ink } = hues;

export class Flow {
  constructor(past) {
    this.past = past;
    this.flow = new Chart(by("chart-flow"), "Nothing was decided in this time.");
    this.rules = new Chart(by("chart-rules"), "Nothing was refused in this time.");
    this.time = new Chart(by("chart-time"), "Nothing was answered in this time.");
    this.limit = new Chart(by("chart-limit"), "No rule says how many may be inside at once.");
    for (const id of ["flow-rule", "flow-span"]) by(id).addEventListener("change", () => this.draw());
  }

  choose(rule) {
    by("flow-rule").value = rule;
    this.draw();
  }

  draw() {
    const seconds = Number(by("flow-span").value);
    const rule = by("flow-rule").value;
    const parts = this.past.parts(seconds);
    const x = parts.map((one) => one.at);
    this.decisions(parts, x, seconds, rule);
    this.refused(parts, x, seconds, rule);
    this.answers(parts, x, seconds);
    this.inside(parts, x, seconds, rule);
  }

  decisions(parts, x, seconds, rule) {
    const rates = parts.map((one) => this.past.rates(one.points, rule));
    const kinds = [["allowed", 0, "allowed"], ["delayed", 1, "delayed"], ["refused", 2, "refused"], ["failed", 4, "failed"]];
    const series = kinds.map(([name, at, hue]) => ({ name, x, y: rates.map((one) => one[at]), color: ink(hue) }))
      .filter((one) => one.name === "allowed" || one.name === "refused" || one.y.some(Boolean));
    const shadowed = rates.map((one) => one[3]);
    if (shadowed.some(Boolean)) series.push({ name: "shadowed", x, y: shadowed, color: ink("shadowed"), dash: "dot", stacked: false, width: 2.25 });
    this.flow.draw(parts.length && series.some((one) => one.y.some(Boolean)) ? series : [], seconds, { unit: " /s", stack: true });
  }

  refused(parts, x, seconds, rule) {
    const names = rule ? [rule] : this.past.busiest(seconds, 2, 8).sort();
    const series = names.map((name, at) => ({ name, x, y: parts.map((one) => this.past.rates(one.points, name)[2]), color: colour(at), dash: dash(at) }));
    this.rules.draw(series.filter((one) => one.y.some(Boolean)), seconds, { unit: " /s" });
  }

  answers(parts, x, seconds) {
    const told = (word, at) => parts.map((one) => one.points.findLast((point) => point[word])?.[word][at] ?? null);
    const series = [
      { name: "half are quicker", x, y: told("latency", 0), color: ink("line-1") },
      { name: "99 % are quicker", x, y: told("latency", 1), color: ink("line-2") },
      { name: "store, 99 %", x, y: told("checks", 1), color: ink("line-4"), dash: "dot" },
    ].filter((one) => one.y.some((value) => value != null));
    for (const one of series) one.y = one.y.map((value) => (value == null ? null : value * 1000));
    this.time.draw(series, seconds, { format: (value) => span(value / 1000) });
  }

  inside(parts, x, seconds, rule) {
    const last = this.past.points.at(-1)?.limits ?? {};
    const names = Object.keys(last).filter((name) => !rule || name === rule).slice(0, 4);
    const told = (name, at) => parts.map((one) => one.points.findLast((point) => point.limits[name])?.limits[name][at] ?? null);
    const several = names.length > 1;
    const series = names.flatMap((name, at) => [
      { name: several ? `${name}: limit` : "limit", x, y: told(name, 0), color: several ? colour(at) : ink("ink"), dash: "dash", shape: "hv" },
      { name: several ? `${name}: inside` : "inside", x, y: told(name, 1), color: several ? colour(at) : ink("allowed"), area: !several },
      ...(told(name, 2).some(Boolean) ? [{ name: several ? `${name}: waiting` : "waiting", x, y: told(name, 2), color: ink("delayed"), dash: "dot" }] : []),
    ]);
    this.limit.draw(series, seconds, { format: count });
  }

  figures(reading) {
    const past = this.past;
    const [allowed, delayed, refused, shadowed, failed] = past.lately(5);
    const all = allowed + delayed + refused + failed;
    const point = past.points.at(-1);
    const up = reading.workers.filter((one) => one.up).length;
    const asked = past.requests(5);
    const told = [
      [reading.serves === "service" ? "Questions" : "Requests", rate(asked), "a second"],
      ["Decided", rate(all), "a second, by all rules"],
      ["Refused", rate(refused), all ? `${percent(refused / all)} of what was decided` : "a second", refused > 0 ? "refused" : ""],
      ["Shadowed", rate(shadowed), "a second would be refused", shadowed > 0 ? "shadowed" : ""],
      ["Answered in", point?.latency ? span(point.latency[0]) : "–", point?.latency ? `99 % in ${span(point.latency[1])}` : "nothing lately"],
      ["Workers", `${up} of ${reading.workers.length}`, restarts(reading), up < reading.workers.length ? "refused" : ""],
    ];
    const list = by("figures");
    if (list.children.length !== told.length) fill(list, told.map(([name]) => make("div", {}, make("dt", {}, name), make("dd", {}), make("dd", { class: "quiet" }))));
    told.forEach(([name, value, more, kind], at) => {
      const [title, figure, rest] = list.children[at].children;
      say(title, name);
      say(figure, value);
      say(rest, more);
      list.children[at].dataset.kind = kind ?? "";
    });
  }
}

const restarts = (reading) => {
  const times = reading.workers.reduce((sum, one) => sum + one.restarts, 0);
  return times ? `replaced ${times} ${times === 1 ? "time" : "times"}` : "none was replaced";
};

export { plain };
