// @ts-check
// Interaction of the pages: parts on demand, stepping through an episode, live boards, and updates of a running run. Without
// this script a page lacks only the parts on demand. Nothing here turns text into markup: parts are HTML of the server, whose
// templates escape all messages.

const root = document.body.dataset.root ?? "";

/** @param {string} path @returns {Promise<string>} */
async function fetched(path) {
  if (path.startsWith("#")) return document.getElementById(path.slice(1))?.innerHTML ?? ""; // in a folder the page contains the part
  const answer = await fetch(path, { headers: { "X-Part": "1" } });
  if (answer.ok) return answer.text();
  const said = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  const line = document.createElement("p");
  line.className = "quiet";
  line.textContent = String(said.error);
  return line.outerHTML;
}

/** @param {string} text */
function say(text) {
  const said = document.getElementById("said");
  if (said) said.textContent = text;
}

// --- parts on demand --------------------------------------------------------------------------------------------------

/** @param {ParentNode} within */
async function fill(within) {
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (within.querySelectorAll("[data-fragment]"))) {
    const path = place.dataset.fragment ?? "";
    place.removeAttribute("data-fragment");
    place.setAttribute("aria-busy", "true");
    place.innerHTML = await fetched(path).catch(() => "<p>No answer; is sonde view still running?</p>");
    place.removeAttribute("aria-busy");
    if (place.querySelector(".replay")) show(at, false);
  }
}

document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("button");
  if (!button) return;
  if (button.dataset.step) step(Number(button.dataset.step));
  if (button.dataset.load) {
    const path = button.dataset.load;
    button.removeAttribute("data-load");
    button.setAttribute("disabled", "");
    const part = document.createElement("div");
    part.innerHTML = await fetched(path).catch(() => "<p>No answer.</p>");
    button.parentElement?.append(...part.childNodes);
  }
});

// --- forms -----------------------------------------------------------------------------------------------------------

document.addEventListener("change", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  if (field.matches("[data-go]") && /** @type {HTMLSelectElement} */ (field).value) location.href = /** @type {HTMLSelectElement} */ (field).value;
  if (field.matches("[data-submit]")) /** @type {HTMLSelectElement} */ (field).form?.requestSubmit();
  if (field.matches("[name=run][type=checkbox]")) picked();
});

document.addEventListener("submit", (event) => {
  // Empty fields are left out of the address.
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "get") return;
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input[name], select[name]")))
    if (!field.value) field.disabled = true;
  if (!document.body.hasAttribute("data-folder")) return;
  event.preventDefault(); // the policy of a page in a folder forbids forms, so the script goes to the address
  const asked = new URLSearchParams(/** @type {[string, string][]} */ ([...new FormData(form)]));
  location.href = `${form.getAttribute("action") ?? ""}?${asked}`;
});

window.addEventListener("pageshow", () => {
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("form[method=get] :disabled[name]")))
    field.disabled = false;
  picked();
});

function picked() {
  const n = document.querySelectorAll("[name=run]:checked").length;
  const button = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-pick-button]"));
  const count = document.querySelector("[data-pick-count]");
  if (!button || !count) return;
  button.disabled = n < 2;
  button.textContent = n > 2 ? `report of ${n}` : "compare";
  count.textContent = n ? `${n} picked` : "none picked";
}

// --- stepping through an episode ---------------------------------------------------------------------------------------

const turns = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".conversation:not(.game) .turn[id]")]);
/** The current turn, from 1; 0 is before the first, and `turns.length + 1` is the whole episode. */
let at = turns.length + 1;

/** @param {number} by */
function step(by) {
  if (!turns.length) return;
  const from = at > turns.length && by > 0 ? 0 : at;
  show(Math.min(turns.length, Math.max(0, from + by)), true);
}

/** @param {number} to @param {boolean} move */
function show(to, move) {
  at = to;
  const whole = to > turns.length;
  turns.forEach((turn, i) => turn.classList.toggle("now", i + 1 === to));
  for (const link of document.querySelectorAll(".timeline a"))
    if (/** @type {HTMLElement} */ (link).dataset.turn === String(to)) {
      link.setAttribute("aria-current", "true");
      if (move) link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  const output = document.querySelector("[data-step-at]");
  if (output) output.textContent = whole ? "all turns" : to ? `turn ${to} of ${turns.length}` : "before turn 1";
  const told = moment(whole ? turns.length : to);
  if (!move) return;
  history.replaceState(null, "", to ? `#t${to}` : location.pathname + location.search);
  if (to) turns[to - 1].scrollIntoView({ block: "nearest" });
  else scrollTo({ top: 0 });
  say(`${output?.textContent ?? ""}. ${told}`);
}

/** The board and the beliefs after `to` turns. @param {number} to @returns {string} */
function moment(to) {
  for (const shot of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".shot[data-at]")))
    shot.hidden = shot.dataset.at !== String(Math.min(to, document.querySelectorAll(".shot[data-at]").length - 1));
  const list = document.querySelector(".beliefs[style]");
  const left = /** @type {HTMLElement | null} */ (document.querySelector("[data-left]"));
  if (!list || !left) return "";
  const rows = /** @type {HTMLElement[]} */ ([...list.children]).map((row) => {
    const exact = /** @type {number[]} */ (JSON.parse(row.dataset.exact ?? "[]"));
    const believed = /** @type {number[]} */ (JSON.parse(row.dataset.believed ?? "[]"));
    return { row, p: exact[Math.min(to, exact.length - 1)] ?? 0, b: believed[Math.min(to, believed.length - 1)] };
  });
  const order = [...rows].sort((x, y) => y.p - x.p || (y.b ?? 0) - (x.b ?? 0));
  for (const { row, p, b } of rows) {
    const [bar, thin, share] = [row.querySelector("b"), row.querySelector(".bar i"), row.querySelector(".p")];
    row.style.setProperty("--row", String(order.findIndex((other) => other.row === row)));
    row.classList.toggle("gone", p === 0);
    if (bar) bar.style.width = `${100 * p}%`;
    if (thin instanceof HTMLElement && b !== undefined) thin.style.width = `${100 * b}%`;
    if (share) share.textContent = p && p < 0.001 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`;
  }
  const counts = /** @type {number[]} */ (JSON.parse(left.dataset.left ?? "[]"));
  const unknown = /** @type {number[]} */ (JSON.parse(left.dataset.entropy ?? "[]"));
  const i = Math.min(to, counts.length - 1);
  const when = to ? `after turn ${to}` : "before turn 1";
  left.textContent = `${counts[i].toLocaleString("en")} possible, ${unknown[i].toFixed(2)} bits of entropy, ${when}`;
  return left.textContent;
}

document.addEventListener("keydown", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Enter" && !event.shiftKey && field.matches(".say textarea")) {
    event.preventDefault();
    return /** @type {HTMLTextAreaElement} */ (field).form?.requestSubmit();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || field.matches("input, textarea, select")) return;
  const link = /** @type {HTMLAnchorElement | null} */ (document.querySelector(`a[data-key="${event.key === "]" ? "]" : event.key === "[" ? "[" : ""}"]`));
  if (link) link.click();
  else if (turns.length && (event.key === "j" || event.key === "ArrowRight")) step(1);
  else if (turns.length && (event.key === "k" || event.key === "ArrowLeft")) step(-1);
  else return;
  event.preventDefault();
});

function fromAddress() {
  const found = /^#t(\d+)$/.exec(location.hash);
  if (turns.length) show(found ? Math.min(turns.length, Number(found[1])) : turns.length + 1, Boolean(found));
}
window.addEventListener("hashchange", fromAddress);

// --- live boards ---------------------------------------------------------------------------------------------------------

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Answers with the value of a place, or holds it until the second place of a pair. @param {SVGElement} place */
function press(place) {
  const board = /** @type {SVGElement} */ (place.closest("svg"));
  const pairs = /** @type {Record<string, Record<string, string>>} */ (JSON.parse(board.dataset.pairs ?? "{}"));
  const name = place.dataset.say ?? "";
  const held = /** @type {SVGElement | null} */ (board.querySelector(".b-place[aria-pressed=true]"));
  const said = board.dataset.pairs ? pairs[held?.dataset.say ?? ""]?.[name] : name;
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("say"));
  if (said && field) {
    field.value = said;
    return field.form?.requestSubmit();
  }
  const to = place === held ? {} : pairs[name] ?? {};
  for (const other of /** @type {NodeListOf<SVGElement>} */ (board.querySelectorAll(".b-place"))) {
    other.setAttribute("aria-pressed", String(other === place && place !== held && name in pairs));
    other.classList.toggle("b-to", (other.dataset.say ?? "") in to);
  }
  say(name in pairs && place !== held ? `${name} to ${Object.keys(to).join(", ")}` : "");
}

/** Moves the focus to the next place in a direction, or to the nearest one without a direction.
 * @param {DOMRect} from @param {[number, number]} way */
function reach(from, [dx, dy]) {
  const centre = (/** @type {DOMRect} */ r) => [r.x + r.width / 2, r.y + r.height / 2];
  const [x, y] = centre(from);
  const found = /** @type {SVGElement[]} */ ([...document.querySelectorAll(".b-place")]).map((place) => {
    const [px, py] = centre(place.getBoundingClientRect());
    const [along, aside] = [(px - x) * dx + (py - y) * dy, Math.abs((px - x) * dy) + Math.abs((py - y) * dx)];
    const far = dx || dy ? (along > 1 ? along + 3 * aside : Infinity) : Math.hypot(px - x, py - y);
    return { place, far };
  });
  const next = found.sort((a, b) => a.far - b.far)[0];
  if (!next || next.far === Infinity) return;
  for (const { place } of found) place.setAttribute("tabindex", place === next.place ? "0" : "-1");
  next.place.focus();
}

document.addEventListener("click", (event) => {
  const place = /** @type {SVGElement | null} */ (/** @type {Element} */ (event.target).closest(".b-place"));
  if (place) press(place);
});

document.addEventListener("keydown", (event) => {
  const place = /** @type {SVGElement} */ (event.target);
  if (!place.matches(".b-place") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in ARROWS) reach(place.getBoundingClientRect(), ARROWS[event.key]);
  else if (event.key === "Enter" || event.key === " ") {
    const { x, y, width, height } = place.getBoundingClientRect();
    sessionStorage.setItem("place", JSON.stringify([x, y, width, height])); // the page is loaded again after each answer
    press(place);
  } else return;
  event.preventDefault();
});

function whereItWas() {
  if (!document.querySelector(".conversation.game")) return;
  const from = sessionStorage.getItem("place");
  sessionStorage.removeItem("place");
  if (from) reach(new DOMRect(.../** @type {[number, number, number, number]} */ (JSON.parse(from))), [0, 0]);
}

// --- updates of a run ----------------------------------------------------------------------------------------------------

/** Replaces the changed parts of the page. */
async function renew() {
  const text = await fetched(location.pathname.split("/").pop() + location.search);
  const page = new DOMParser().parseFromString(text, "text/html");
  const ticked = new Set([...document.querySelectorAll("[name=run]:checked")].map((box) => /** @type {HTMLInputElement} */ (box).value));
  for (const part of document.querySelectorAll("[data-swap]")) {
    const newer = page.querySelector(`[data-swap="${CSS.escape(part.getAttribute("data-swap") ?? "")}"]`);
    if (!newer || newer.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue;
    const keep = newer.getAttribute("data-keep"); // figures stay until their kind changes
    if (keep && keep === part.getAttribute("data-keep")) continue;
    if (keep) part.setAttribute("data-keep", keep);
    part.replaceChildren(...newer.childNodes);
    fill(part);
  }
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[name=run]"))) box.checked = ticked.has(box.value);
  picked();
  return page.body.dataset.version;
}

async function watch() {
  let known = document.body.dataset.version;
  const path = document.body.dataset.live ?? "";
  let pause = 1500;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (document.hidden) continue;
    try {
      const answer = await fetch(`${root}state/${path}`);
      const { version } = await answer.json();
      if (answer.ok && version !== known) known = (await renew()) ?? version;
      pause = 1500;
    } catch {
      pause = Math.min(30000, 2 * pause); // the application has ended, or the machine sleeps
    }
  }
}

document.documentElement.classList.add("js");
fromAddress();
picked();
addEventListener("load", () => setTimeout(whereItWas)); // after the focus of the address and of the page
fill(document);
if (document.body.dataset.version) watch();
