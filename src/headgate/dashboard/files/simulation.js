// The algorithms under the same traffic, side by side.

import { bar, by, fill, make, say } from "./dom.js";
import { Chart, hues } from "./charts.js";
import { count, percent, span } from "./numbers.js";
import { post } from "./wire.js";

const { ink } = hues;
// Spelled as people say them.
const TITLES = { TokenBucket: "token bucket", GCRA: "GCRA", LeakyBucket: "leaky bucket", FixedWindow: "fixed window", SlidingWindow: "sliding window", SlidingLog: "sliding log" };

export class Simulation {
  constructor() {
    this.chart = new Chart(by("sim-chart"), "");
    this.found = null;
    by("simulate").addEventListener("submit", (event) => {
      event.preventDefault();
      this.play();
    });
  }

  async play() {
    const { good, said } = await post("/simulate", { rate: by("sim-rate").value, kind: by("sim-kind").value, mean: Number(by("sim-mean").value), seconds: Number(by("sim-seconds").value) });
    say(by("sim-said"), good ? "" : said.problems?.join("; ") ?? "it was not answered");
    if (!good) return;
    this.found = said;
    this.draw();
  }

  draw() {
    const found = this.found;
    if (!found) return;
    by("sim-table").hidden = false;
    say(by("sim-most"), `most in any ${span(found.period)}`);
    fill(by("sim-rows"), found.algorithms.map((one) => make("tr", {},
      make("th", { scope: "row" }, TITLES[one.name] ?? one.name, " ", make("code", { class: "quiet" }, one.spelled)),
      make("td", { class: "n" }, count(one.allowed)), make("td", { class: "n" }, count(one.refused)), make("td", { class: "n" }, count(one.most)),
      make("td", {}, make("span", { class: "share" }, bar(one.allowed / found.requests, "allowed", percent(one.allowed / found.requests)), make("span", { class: "n" }, percent(one.allowed / found.requests)))))));
    by("sim-chart").hidden = false;
    by("sim-chart").hidden = !this.picture(found);
  }

  // One small picture for each, all to the same measure: what was asked, and what went in.
  picture(found) {
    const x = found.asked.map((_, at) => at * found.width);
    const width = found.width;
    const traces = [];
    const more = { margin: { l: 36, r: 8, t: 22, b: 26 }, showlegend: false, annotations: [], hovermode: "closest", grid: undefined };
    const most = Math.max(1, ...found.asked);
    const columns = by("sim-chart").clientWidth < 700 ? 2 : 3;
    const rows = Math.ceil(found.algorithms.length / columns);
    found.algorithms.forEach((one, at) => {
      const end = at ? String(at + 1) : "";
      const left = (at % columns) / columns;
      const row = Math.floor(at / columns);
      const bottom = 1 - (row + 1) / rows;
      const line = { gridcolor: ink("grid"), zeroline: false, fixedrange: true, linecolor: ink("grid") };
      more[`xaxis${end}`] = { ...line, domain: [left + 0.01, left + 1 / columns - 0.02], anchor: `y${end}`, range: [0, width * x.length], nticks: 5, ticksuffix: " s" };
      more[`yaxis${end}`] = { ...line, domain: [bottom + 0.09, bottom + 1 / rows - 0.09], anchor: `x${end}`, range: [0, most * 1.05], nticks: 4, showticklabels: at % columns === 0 };
      more.annotations.push({ text: TITLES[one.name] ?? one.name, xref: "paper", yref: "paper", x: left + 0.01, y: bottom + 1 / rows - 0.085, xanchor: "left", yanchor: "bottom", showarrow: false, font: { color: ink("ink"), size: 12 } });
      const axes = { xaxis: `x${end}`, yaxis: `y${end}`, x, type: "bar", offset: 0, width, hovertemplate: "%{y}<extra></extra>" };
      traces.push({ ...axes, y: found.asked, marker: { color: ink("soft") }, name: "asked" });
      traces.push({ ...axes, y: one.parts, marker: { color: ink("allowed") }, name: "let in" });
    });
    return this.chart.figure(traces, { ...more, barmode: "overlay", height: rows * 190 });
  }
}
