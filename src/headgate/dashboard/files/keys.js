// One key: how it stands with a rule, and lifting it.

import { bar, by, fill, make } from "./dom.js";
import { count, span } from "./numbers.js";
import { post } from "./wire.js";
import { tag } from "./tables.js";

export class Keys {
  constructor(tell) {
    this.tell = tell;
    this.looked = null;
    this.busy = false;
    by("look").addEventListener("submit", (event) => {
      event.preventDefault();
      this.look(...this.asked());
    });
    by("lift").addEventListener("click", () => this.lift(...this.asked()));
    for (const id of ["look-rule", "look-key", "look-plan"]) by(id).addEventListener("input", () => { this.looked = null; });
  }

  asked() {
    return [by("look-rule").value, by("look-key").value, by("look-plan").value];
  }

  async look(rule, key, plan = "") {
    this.show(rule, key, plan);
    this.looked = { rule, key, plan };
    await this.again(true);
  }

  // While it is looked at, a key is looked at again and again: buckets fill as one watches.
  async again(loud = false) {
    if (!this.looked || this.busy) return;
    const asked = this.looked;
    this.busy = true;
    try {
      const { good, said } = await post("/peek", asked);
      if (asked !== this.looked) return;
      if (good) this.stand(said);
      else this.fail(said, loud);
    } catch {
      // The line is lost, which is said elsewhere.
    } finally {
      this.busy = false;
    }
  }

  async lift(rule, key, plan = "") {
    this.show(rule, key, plan);
    const { good, said } = await post("/reset", { rule, key, plan });
    if (!good) return this.fail(said, true);
    this.looked = { rule, key, plan };
    this.stand(said);
    this.tell(`${key || "The key"} is lifted at ${rule}: as if it had never been seen.`);
  }

  show(rule, key, plan) {
    by("look-rule").value = rule;
    by("look-key").value = key;
    by("look-plan").value = plan;
  }

  fail(said, loud) {
    this.looked = null;
    const problem = said.problems?.join("; ") ?? said.status ?? "no answer";
    fill(by("standing"), [make("p", { class: "wrong" }, problem)]);
    if (loud) this.tell(problem);
  }

  stand(said) {
    const rows = [make("p", { class: "who" }, make("code", {}, said.key || "(no key)"), " at ", make("strong", {}, said.rule))];
    if (said.denied) rows.push(make("p", {}, tag("denied", "refused"), " It is let in by nobody’s leave: the rule refuses it whatever it has left."));
    if (said.unlimited) rows.push(make("p", {}, tag("unlimited", "good"), " It may do as it likes."));
    for (const limit of said.limits) rows.push(level(limit));
    if (said.places) rows.push(gauge("places", said.places.limit - said.places.inside, said.places.limit, `${count(said.places.inside)} of ${count(said.places.limit)} are taken${said.places.waiting ? `, ${count(said.places.waiting)} wait` : ""}`));
    if (said.breaker) rows.push(make("p", {}, "Its breaker is ", tag(said.breaker.replace("_", " "), said.breaker === "closed" ? "good" : "refused")));
    if (said.own) rows.push(make("p", { class: "quiet" }, `Each of the ${said.workers} workers counts by itself; this is the one where least is left.`));
    fill(by("standing"), rows);
  }
}

function level(limit) {
  const left = `${count(limit.remaining)} of ${count(limit.limit)} left`;
  const when = limit.allowed ? (limit.reset_after > 0 ? `full in ${span(limit.reset_after)}` : "full") : limit.retry_after == null ? "never fits" : `next in ${span(limit.retry_after)}`;
  return gauge(limit.terms === limit.name ? limit.terms : `${limit.name}, ${limit.terms}`, limit.remaining, limit.limit, `${left}, ${when}${limit.degraded ? ", by itself: its store is away" : ""}`, limit.allowed);
}

function gauge(name, left, most, text, good = left > 0) {
  const share = most ? left / most : 0;
  return make("div", { class: "level" }, make("span", { class: "terms" }, name), bar(share, good ? "allowed" : "refused", text), make("span", { class: "quiet" }, text));
}
