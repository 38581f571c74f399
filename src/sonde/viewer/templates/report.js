// Conveniences; without them the page shows everything. A chip highlights one agent, and the others fade; a link to an
// episode opens it.
"use strict";
const chips = [...document.querySelectorAll("button[data-agent]")];
let focus = null;
function pick(agent) {
  focus = focus === agent ? null : agent;
  for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.agent === focus));
  for (const part of document.querySelectorAll(".of-agent"))
    part.classList.toggle("faded", focus !== null && !part.classList.contains("agent-" + focus));
}
for (const chip of chips) chip.addEventListener("click", () => pick(chip.dataset.agent));
for (const button of document.querySelectorAll("button[data-open]"))
  button.addEventListener("click", () => {
    const all = [...button.closest("section").querySelectorAll("details.episode")];
    const open = !all.every((episode) => episode.open);
    for (const episode of all) episode.open = open;
  });
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", reveal);
reveal();
