// Nodes made of plain words. What strangers wrote is only ever text here: nothing on this page is
// made by reading HTML.

export const by = (id) => document.getElementById(id);

// make("td", {class: "n"}, "7"): attributes, except that a function is what happens on that event.
export function make(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((one) => one != null && one !== false).map(shown));
  return node;
}

const shown = (one) => (one instanceof Node ? one : document.createTextNode(String(one)));

// Have a node hold just these children; who had the focus in it keeps it, found by `data-at`.
export function fill(node, children) {
  const held = node.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
  node.replaceChildren(...children.filter(Boolean));
  if (held === undefined) return;
  for (const one of node.querySelectorAll("[data-at]")) if (one.dataset.at === held) one.focus({ preventScroll: true });
}

// Have a select offer these values, and keep what was chosen while it is still there.
export function offer(select, values, first = [], last = []) {
  const wanted = [...first, ...values.map((one) => [one, one]), ...last];
  const same = wanted.length === select.options.length
    && wanted.every(([value], at) => select.options[at].value === value);
  if (same) return;
  const chosen = select.value;
  select.replaceChildren(...wanted.map(([value, label]) => make("option", { value }, label)));
  if (wanted.some(([value]) => value === chosen)) select.value = chosen;
}

export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// A bar that is so full, from 0 to 1, of one or two parts.
export function bar(share, kind = "", label = "") {
  const part = make("span", { class: `part ${kind}` });
  part.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return make("span", { class: "meter", role: "img", "aria-label": label || `${Math.round(share * 100)} %` }, part);
}
