// The line to the admin: who we are, what we ask for, and the stream of what happens.

const OWN = { "headgate-page": "1" };
// Seconds without a word after which something must be wrong, and until the next try.
const SILENCE = 6;
const AGAIN = 2;

export async function known() {
  const answer = await fetch("/session", { cache: "no-store" });
  return (await answer.json()).known === true;
}

export async function login(token) {
  const answer = await fetch("/login", { method: "POST", body: new URLSearchParams({ token }) });
  return { good: answer.ok, status: answer.status, wait: Number(answer.headers.get("retry-after")) || 0 };
}

export const logout = () => fetch("/logout", { method: "POST" });

export async function get(path) {
  const answer = await fetch(path, { cache: "no-store" });
  return { status: answer.status, said: answer.ok ? await answer.json() : null };
}

export async function post(path, said = {}) {
  const headers = { ...OWN, "content-type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(said) });
  return { status: answer.status, good: answer.ok, said: await answer.json().catch(() => ({})) };
}

// Tells of every beat, and of what becomes of the line: connecting, live, lost, paused, unknown.
export class Line {
  constructor({ state, history, beat }) {
    this.tell = { state, history, beat };
    this.source = null;
    this.last = "";
    this.heard = 0;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => this.turn());
    window.addEventListener("pagehide", () => this.close());
    setInterval(() => this.watch(), 1000);
  }

  open() {
    this.wanted = true;
    this.turn();
  }

  close() {
    this.wanted = false;
    this.part();
  }

  // Nobody looks at a hidden page, so nothing is sent to it; what it has missed it is told later.
  turn() {
    if (!this.wanted) return;
    if (document.hidden) {
      this.part();
      this.tell.state("paused");
    } else if (!this.source) this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.heard = Date.now();
    const source = new EventSource(this.last ? `/events?since=${this.last}` : "/events");
    this.source = source;
    source.addEventListener("open", () => this.note());
    source.addEventListener("history", (event) => {
      this.note();
      this.tell.history(JSON.parse(event.data));
    });
    source.addEventListener("beat", (event) => {
      this.note();
      this.last = event.lastEventId;
      this.tell.beat(JSON.parse(event.data));
    });
    source.addEventListener("error", () => this.fail());
  }

  note() {
    this.heard = Date.now();
    this.tell.state("live");
  }

  // The browser tries again by itself where the connection broke; where it was answered with a no,
  // we find out why.
  fail() {
    this.tell.state("lost");
    if (this.source?.readyState !== EventSource.CLOSED) return;
    this.part();
    this.timer = setTimeout(() => this.inquire(), AGAIN * 1000);
  }

  async inquire() {
    try {
      if (await known()) this.turn();
      else this.tell.state("unknown");
    } catch {
      this.timer = setTimeout(() => this.inquire(), AGAIN * 1000);
    }
  }

  // A line may be dead without having ended.
  watch() {
    if (!this.source || Date.now() - this.heard < SILENCE * 1000) return;
    this.tell.state("lost");
    if (this.source.readyState !== EventSource.OPEN) return;
    this.part();
    this.connect();
  }

  part() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
