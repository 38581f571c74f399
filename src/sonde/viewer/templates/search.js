// @ts-check
// Search on a page without a server. The texts of each run are beside the page, in a script that only assigns
// `said[RUN] = …` and is loaded when the search reaches it. Hits are text nodes: no message becomes markup.

/** @typedef {[id: string, index: number, sample: number, kind: string, said: [turn: number, seat: string, words: string][]]} Spoken */
/** @typedef {{env: string, agent: string, episodes: Spoken[]}} Run */
/** @typedef {{run: string, one: Run, episode: Spoken, turn: number, seat: string, words: string, at: number}} Hit */

const HITS = 30;
const AROUND = 60;

/** The texts of a run. @param {string} run @returns {Promise<Run>} */
function spoken(run) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}search/${encodeURIComponent(run)}.js`;
    script.onload = () => resolve(/** @type {any} */ (globalThis).said[run]);
    script.onerror = () => reject(new Error(`search/${run}.js cannot be read`));
    document.head.append(script);
  });
}

/** The position of a text, ignoring case; -1 without one. @param {string} words @param {string} text */
function found(words, text) {
  const low = words.toLowerCase(); // a few letters change their length with their case
  return low.length === words.length ? low.indexOf(text.toLowerCase()) : words.indexOf(text);
}

/** The first place in each message, run after run. @param {string[]} runs @param {URLSearchParams} asked
 * @param {{read: number}} count @returns {AsyncGenerator<Hit>} */
async function* hits(runs, asked, count) {
  const [text, kind, env] = ["text", "kind", "env"].map((name) => asked.get(name) ?? "");
  for (const run of runs) {
    const one = await spoken(run);
    if (env && one.env !== env) continue;
    for (const episode of one.episodes) {
      if (kind && episode[3] !== kind) continue;
      count.read++;
      for (const [turn, seat, words] of episode[4]) {
        const at = found(words, text);
        if (at >= 0) yield { run, one, episode, turn, seat, words, at };
      }
    }
  }
}

/** @param {Hit} hit @param {number} length @param {boolean} named @returns {HTMLElement} */
function item({ run, one, episode: [id, index, sample, kind], turn, seat, words, at }, length, named) {
  const [line, link, mark] = [document.createElement("li"), document.createElement("a"), document.createElement("mark")];
  link.href = `${root}episode/${encodeURIComponent(run)}/${encodeURIComponent(id)}.html${turn ? `#t${turn}` : ""}`;
  const where = `task ${index}, sample ${sample}${turn ? `, turn ${turn}` : ""}`;
  link.textContent = named ? `${one.env.replaceAll("_", " ")}, ${one.agent}: ${where}` : where;
  mark.textContent = words.slice(at, at + length);
  const text = part("div", "words", words.slice(Math.max(0, at - AROUND), at), mark, words.slice(at + length, at + length + AROUND));
  text.dir = "auto";
  line.append(part("span", `kind k-${kind}`, kind), " ", link, " ", part("span", "quiet", seat), text);
  return line;
}

/** @param {string} tag @param {string} name @param {(string | Node)[]} inner */
function part(tag, name, ...inner) {
  const element = document.createElement(tag);
  element.className = name;
  element.append(...inner);
  return element;
}

/** @param {HTMLElement} place */
function search(place) {
  const asked = new URLSearchParams(location.search);
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("form[role=search] [name]")))
    field.value = asked.get(field.name) ?? "";
  const text = asked.get("text") ?? "";
  if (!text) return;
  const runs = /** @type {string[]} */ (JSON.parse(place.dataset.search ?? "[]"));
  const [list, told] = [/** @type {HTMLElement} */ (document.querySelector(".hits")), part("p", "quiet")];
  const more = document.createElement("button");
  told.setAttribute("role", "status");
  more.textContent = "search on";
  place.append(told);
  list.after(more);
  const count = { read: 0 };
  const next = hits(runs, asked, count);

  const on = async () => {
    more.hidden = true;
    told.textContent = "searching …";
    let over = "";
    for (let i = 0; i < HITS && !over; i++) {
      const { value, done } = await next.next().catch((why) => ({ value: why, done: true }));
      if (done) over = value instanceof Error ? value.message : "No more hits.";
      else list.append(item(value, text.length, runs.length > 1));
    }
    const [n, read] = [list.children.length, count.read];
    told.textContent = `${n.toLocaleString("en")} hit${n === 1 ? "" : "s"} in ${read.toLocaleString("en")} episode${read === 1 ? "" : "s"}. ${over}`;
    more.hidden = Boolean(over);
  };
  more.addEventListener("click", on);
  on();
}

const searched = /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"));
if (searched) search(searched);
