// Charts, by plotly where it is installed; without it, the same numbers in tables.

import { fill, make } from "./dom.js";
import { rate, span } from "./numbers.js";

const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };
let library = null;

// Loads the library once; tells what to install where there is none.
export async function load() {
  const answer = await fetch("/charts.json");
  const told = answer.ok ? await answer.json() : { charts: false, install: "", styles: [] };
  if (!told.charts) return told.install;
  for (const id of told.styles) {
    // It would add styles of its own, which this page may not have. Where an element of that name
    // is there already, it does not; its rules stand in page.css.
    document.head.append(make("meta", { id, class: "no-inline-styles" }));
  }
  await new Promise((done) => {
    document.head.append(make("script", { src: "/plotly.js", load: done, error: done }));
  });
  library = window.Plotly ?? null;
  return library ? "" : "reload this page; the script of plotly did not arrive";
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const LINES = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7", "line-8"];
const DASHES = ["solid", "dash", "dot", "dashdot", "solid", "dash", "dot", "dashdot"];
export const colour = (at) => ink(LINES[at % LINES.length]);
export const dash = (at) => DASHES[at % DASHES.length];

function layout(seconds, width, more) {
  const steps = width > 420 ? 5 : 2;
  const ticks = Array.from({ length: steps + 1 }, (_, at) => -seconds + (at * seconds) / steps);
  const axis = { gridcolor: ink("grid"), zeroline: false, linecolor: ink("grid"), tickcolor: ink("grid"), fixedrange: true, ticks: "" };
  const { yaxis, ...rest } = more;
  return {
    margin: { l: 44, r: 8, t: 26, b: 24 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: ink("sans"), size: 11, color: ink("quiet") },
    hovermode: "x unified",
    hoverlabel: { bgcolor: ink("sheet"), bordercolor: ink("line"), font: { color: ink("ink"), size: 11.5 } },
    dragmode: false,
    showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.16, xanchor: "left", yanchor: "top", font: { size: 11 }, itemclick: false, itemdoubleclick: false },
    xaxis: { ...axis, range: [-seconds, 0], tickvals: ticks, ticktext: ticks.map((at) => (at > -1 ? "now" : `−${span(-at)}`)), hoverformat: ".0f", title: undefined },
    yaxis: { ...axis, rangemode: "tozero", nticks: 5, ...yaxis },
    ...rest,
  };
}

export class Chart {
  constructor(node, empty) {
    this.node = node;
    this.empty = empty;
    this.drawn = false;
  }

  // Series are {name, x, y, color, fill, dash}; x in seconds before now.
  draw(series, seconds, { unit = "", format = rate, stack = false } = {}) {
    const some = series.some((one) => one.y.some((value) => value != null));
    this.node.dataset.points = series.reduce((sum, one) => sum + one.y.length, 0);
    this.node.dataset.last = series.map((one) => one.y.at(-1) ?? "").join(" ");
    if (!some) return this.clear();
    if (!library) return this.table(series, format);
    const traces = series.map((one) => ({
      type: "scatter", mode: "lines", name: one.name, x: one.x, y: one.y, hoverinfo: "text+name",
      text: one.y.map((value) => (value == null ? "" : `${format(value)}${unit}`)),
      line: { color: one.color, width: one.width ?? 1.75, dash: one.dash ?? "solid", shape: one.shape ?? "linear" },
      ...(stack && one.stacked !== false ? { stackgroup: "all", fillcolor: one.soft ?? `${one.color}55` } : {}),
      ...(one.area ? { fill: "tozeroy", fillcolor: one.soft ?? `${one.color}33` } : {}),
      connectgaps: false, hovertemplate: `%{text}<extra>${plain(one.name)}</extra>`,
    }));
    this.begin();
    library.react(this.node, traces, layout(seconds, this.node.clientWidth, { yaxis: { ticksuffix: unit.trim() === "%" ? " %" : "" } }), CONFIG);
  }

  begin() {
    if (!this.drawn) this.node.replaceChildren();
    this.drawn = true;
  }

  figure(traces, more) {
    if (!library) return false;
    this.begin();
    library.react(this.node, traces, { ...layout(1, 0, {}), ...more }, CONFIG);
    return true;
  }

  clear() {
    if (this.drawn && library) library.purge(this.node);
    this.drawn = false;
    fill(this.node, [make("p", { class: "empty" }, this.empty)]);
  }

  table(series, format) {
    const rows = series[0].x.map((at, place) => [at, place]).filter(([, place]) => (series[0].x.length - 1 - place) % 5 === 0).slice(-8);
    fill(this.node, [make("table", { class: "grid" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "ago"), series.map((one) => make("th", { scope: "col", class: "n" }, one.name)))),
      make("tbody", {}, rows.map(([at, place]) => make("tr", {}, make("td", {}, span(-at)), series.map((one) => make("td", { class: "n" }, one.y[place] == null ? "–" : format(one.y[place])))))))]);
  }
}

// The library reads a little of HTML, and its own braces, in what it writes; names are none of it.
export const plain = (text) => String(text).replace(/[<>&{}%]/g, "·");
export const hues = { ink };
export const ready = () => library !== null;
