// The past: the points of the last quarter of an hour, and what can be drawn of them.

const LONGEST = 900;
export const COUNTED = ["allowed", "delayed", "refused", "shadowed", "failed"];

// All that counted in a second, but the one that is only tried.
const inForce = (point) => Object.keys(point.rules).filter((name) => name !== point.trial);

export class Past {
  constructor() {
    this.mark = "";
    this.points = [];
  }

  // What was missed. Another program's points are another story: its own come after ours.
  learn({ mark, points }) {
    this.mark = mark;
    const known = new Set(this.points.map((one) => one.at));
    this.points = [...this.points, ...points.filter((one) => !known.has(one.at))]
      .sort((one, other) => one.at - other.at).slice(-LONGEST);
  }

  add(point) {
    if (!point || this.points.some((one) => one.at === point.at && one.n === point.n)) return;
    // Where the clock was put back, what it once called later would be the latest for ever.
    while (this.points.at(-1)?.at > point.at) this.points.pop();
    this.points.push(point);
    if (this.points.length > LONGEST) this.points.shift();
  }

  within(seconds) {
    const now = this.points.at(-1)?.at ?? 0;
    return this.points.filter((one) => one.at > now - seconds);
  }

  // Parts of the span, each with its middle in seconds before now, and the points that fall into it.
  parts(seconds) {
    const now = this.points.at(-1)?.at ?? 0;
    const width = seconds <= 60 ? 1 : seconds <= 300 ? 2 : 5;
    const parts = new Map();
    for (const point of this.within(seconds)) {
      const place = Math.floor((now - point.at) / width);
      if (!parts.has(place)) parts.set(place, []);
      parts.get(place).push(point);
    }
    return [...parts].sort((one, other) => other[0] - one[0]).map(([place, points]) => ({ at: -(place + 0.5) * width, points }));
  }

  // How many a second were counted as each of COUNTED, by one rule or by all.
  rates(points, rule = "") {
    const sums = COUNTED.map(() => 0);
    let spent = 0;
    for (const point of points) {
      spent += point.span;
      const names = rule ? [rule] : inForce(point);
      for (const name of names) point.rules[name]?.forEach((value, at) => { sums[at] += value; });
    }
    return sums.map((sum) => (spent ? sum / spent : 0));
  }

  // The same of the last so many seconds.
  lately(seconds, rule = "") {
    return this.rates(this.within(seconds), rule);
  }

  requests(seconds) {
    const points = this.within(seconds);
    const spent = points.reduce((sum, one) => sum + one.span, 0);
    return spent ? points.reduce((sum, one) => sum + one.requests, 0) / spent : 0;
  }

  // The rules that had most to decide.
  busy(seconds, most) {
    const sums = new Map();
    for (const point of this.within(seconds))
      for (const name of inForce(point)) sums.set(name, (sums.get(name) ?? 0) + point.rules[name].reduce((sum, one) => sum + one, 0));
    return [...sums].sort((one, other) => other[1] - one[1]).slice(0, most - 1).map(([name]) => name);
  }

  // The rules that were busiest by one of COUNTED.
  busiest(seconds, at, most) {
    const sums = new Map();
    for (const point of this.within(seconds))
      for (const name of inForce(point)) sums.set(name, (sums.get(name) ?? 0) + point.rules[name][at]);
    return [...sums].filter(([, sum]) => sum > 0).sort((one, other) => other[1] - one[1]).slice(0, most).map(([name]) => name);
  }
}
