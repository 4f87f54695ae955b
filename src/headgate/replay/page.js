"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const LONGEST = 36;
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Plotly takes some tags for its own: names of strangers are text and nothing else.
  const inert = (text) => String(text).replace(/[^\P{C}]/gu, "\uFFFD")
    .replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const dates = { type: "date", title: { text: "time in UTC", standoff: 4 } };
  const short = (text) => text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;

  function layout(more) {
    const axis = { gridcolor: style("--line"), zerolinecolor: style("--line"), linecolor: style("--line"),
      automargin: true };
    const base = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", barmode: "stack",
      bargap: 0, margin: { l: 56, r: 12, t: 8, b: 36 }, hovermode: "x unified", height: 280,
      font: { color: style("--ink"), family: "system-ui, sans-serif", size: 12 },
      hoverlabel: { bgcolor: style("--card"), bordercolor: style("--line"), font: { color: style("--ink") } },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" } };
    const found = { ...base, ...more };
    found.xaxis = { ...axis, ...(more.xaxis || {}) };
    found.yaxis = { ...axis, ...(more.yaxis || {}) };
    return found;
  }

  // A part that nobody asked in is not there: it is drawn as nothing.
  function columns(rows, width, count) {
    const known = new Map(rows.map((row) => [row[0], row]));
    const first = rows.length ? rows[0][0] : 0, last = rows.length ? rows[rows.length - 1][0] : 0;
    const parts = (last - first) / width + 1;
    const starts = parts <= 5000 ? Array.from({ length: parts }, (_, n) => first + n * width) : rows.map((r) => r[0]);
    const found = Array.from({ length: count }, () => []);
    for (const at of starts) {
      const row = known.get(at);
      for (let n = 0; n < count; n += 1) found[n].push(row ? row[n + 1] : 0);
    }
    // Bars stand in the middle of their part.
    return [starts.map((at) => new Date((at + width / 2) * 1000).toISOString()), found];
  }

  const every = (width) => width % 86400 === 0 ? `${width / 86400} d` : width % 3600 === 0 ? `${width / 3600} h`
    : width % 60 === 0 ? `${width / 60} min` : `${width} s`;

  function bars(x, width, lists) {
    return lists.filter(([, values]) => values.some((value) => value > 0)).map(([name, values, color]) => ({
      type: "bar", x, y: values, name, width: width * 1000, marker: { color, line: { width: 0 } } }));
  }

  function timeline(told) {
    const [x, [asked, refused, shadowed, delayed]] = columns(told.timeline, told.width || told.heat.width, 4);
    const width = told.width || told.heat.width;
    const through = asked.map((all, n) => all - refused[n] - shadowed[n] - delayed[n]);
    return [bars(x, width, [
      ["let in", through, style("--allowed")], ["made to wait", delayed, style("--delayed")],
      ["let in by shadow", shadowed, style("--shadowed")], ["refused", refused, style("--refused")],
    ]), layout({ xaxis: dates, yaxis: { title: { text: `requests in ${every(width)}` } } })];
  }

  function rowsOf(names, lists) {
    const y = names.map((_, n) => n);
    const traces = lists.filter(([, values]) => values.some((value) => value > 0)).map(([name, values, color]) => ({
      type: "bar", orientation: "h", y, x: values, name, marker: { color },
      customdata: names.map(inert), hovertemplate: `%{customdata}: %{x:,} ${name}<extra></extra>` }));
    return [traces, layout({ hovermode: "closest", bargap: 0.25, height: 90 + 22 * names.length,
      xaxis: { title: { text: "requests", standoff: 8 } },
      yaxis: { tickvals: y, ticktext: names.map((name) => inert(short(name))), autorange: "reversed" } })];
  }

  function top(told) {
    const list = told.top;
    return rowsOf(list.map((one) => one.key || "(no key)"), [
      ["refused", list.map((one) => one.refused), style("--refused")],
      ["let in by shadow", list.map((one) => one.shadowed), style("--shadowed")],
      ["made to wait", list.map((one) => one.delayed), style("--delayed")],
      ["let in", list.map((one) => one.asked - one.refused - one.shadowed - one.delayed), style("--allowed")],
    ]);
  }

  function heat(told) {
    const width = told.heat.width, rows = told.heat.rows;
    const from = Math.min(...told.timeline.map((row) => row[0])), until = Math.max(...told.timeline.map((row) => row[0]));
    const parts = Math.min(5000, Math.round((until - from) / width) + 1);
    const z = rows.map((row) => {
      const line = new Array(parts).fill(null);
      for (const [at, count] of row.cells) line[Math.min(parts - 1, Math.round((at - from) / width))] = count;
      return line;
    });
    const x = Array.from({ length: parts }, (_, n) => new Date((from + (n + 0.5) * width) * 1000).toISOString());
    const y = rows.map((_, n) => n);
    return [[{ type: "heatmap", x, y, z, colorscale: [[0, style("--pale")], [1, style("--refused")]], xgap: 0, ygap: 2,
      zmin: 0, hoverongaps: false, customdata: rows.map((row) => new Array(parts).fill(inert(row.key || "(no key)"))),
      hovertemplate: "%{customdata}<br>%{x}: %{z:,} refused<extra></extra>",
      colorbar: { thickness: 10, outlinewidth: 0, title: { text: `in ${every(width)}`, side: "right" } } }],
    layout({ hovermode: "closest", height: 110 + 20 * rows.length, xaxis: { ...dates, range: [
      new Date(from * 1000).toISOString(), new Date((until + width) * 1000).toISOString()] },
      yaxis: { tickvals: y, ticktext: rows.map((row) => inert(short(row.key || "(no key)"))), autorange: "reversed",
        showgrid: false } })];
  }

  function changes(told) {
    const [x, [both, old, fresh]] = columns(told.timeline, told.width, 3);
    return [bars(x, told.width, [
      ["by both", both, style("--dim")], ["by the old file alone", old, style("--allowed")],
      ["by the new file alone", fresh, style("--refused")],
    ]), layout({ xaxis: dates, yaxis: { title: { text: `refused in ${every(told.width)}` } } })];
  }

  function concerned(told) {
    const names = told.keys.map((one) => `${one.rule}: ${one.key || "(no key)"}`);
    const of = (side) => told.keys.map((one) => one.refused_by === side ? one.requests : 0);
    return rowsOf(names, [["by the new file alone", of("new"), style("--refused")],
      ["by the old file alone", of("old"), style("--allowed")]]);
  }

  function figure(name) {
    const [side, part, kind] = name.split(".");
    if (side === "diff") return part === "keys" ? concerned(report.diff) : changes(report.diff);
    if (part === "timeline") return timeline(report[side]);
    const rule = report[side].rules[Number(part)];
    return { timeline, top, heat }[kind](rule);
  }

  function draw() {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const [traces, form] = figure(place.dataset.chart);
      Plotly.react(place, traces, form, { displaylogo: false, responsive: true, displayModeBar: false });
    }
    document.body.dataset.drawn = "yes";
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
