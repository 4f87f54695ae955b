// Numbers as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value) => (value == null ? "–" : Math.abs(value) >= 100000 ? short.format(value) : whole.format(value));

export function rate(value) {
  if (value == null || Number.isNaN(value)) return "–";
  return value >= 1000 ? short.format(value) : value >= 100 ? whole.format(value) : fine.format(value);
}

export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value > 0 && value < 0.1 ? "<0.1" : value >= 99.95 || value < 0.05 ? whole.format(value) : fine.format(value)} %`;
}

export function span(seconds) {
  if (seconds == null) return "never";
  if (seconds < 0.001) return seconds <= 0 ? "0 s" : `${whole.format(seconds * 1e6)} µs`;
  if (seconds < 1) return `${fine.format(seconds * 1e3)} ms`;
  if (seconds < 120) return `${fine.format(seconds)} s`;
  if (seconds < 7200) return `${whole.format(seconds / 60)} min`;
  return seconds < 172800 ? `${fine.format(seconds / 3600)} h` : `${fine.format(seconds / 86400)} days`;
}

export const clock = (seconds) => (seconds ? new Date(seconds * 1000).toLocaleTimeString("en-GB") : "–");
