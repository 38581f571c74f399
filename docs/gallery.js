// The filters of the gallery: a choice for each fact of its cards, kept in the address. Without scripts all cards show.
document.addEventListener("DOMContentLoaded", () => {
  const gallery = document.querySelector(".gallery");
  if (!gallery) return;
  const cards = [...gallery.children];
  const facts = { suite: "Suite", kind: "Kind", beliefs: "Exact beliefs", partner: "Partner", difficulty: "Difficulty" };
  const asked = new URLSearchParams(location.search);
  const bar = document.createElement("form");
  bar.className = "filters";
  const count = document.createElement("output");
  const choices = Object.entries(facts).map(([fact, title]) => {
    const values = [...new Set(cards.flatMap((card) => card.dataset[fact].split("|")))].filter(Boolean);
    const select = document.createElement("select");
    select.name = fact;
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    select.value = values.includes(asked.get(fact)) ? asked.get(fact) : "";
    const label = document.createElement("label");
    label.append(title, select);
    bar.append(label);
    return select;
  });
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "Show all";
  bar.append(reset, count);
  const show = () => {
    const wanted = choices.filter((select) => select.value);
    for (const card of cards)
      card.hidden = !wanted.every((select) => card.dataset[select.name].split("|").includes(select.value));
    const shown = cards.filter((card) => !card.hidden).length;
    count.textContent = `${shown} of ${cards.length}`;
    reset.hidden = !wanted.length;
    const query = new URLSearchParams(wanted.map((select) => [select.name, select.value])).toString();
    history.replaceState(null, "", query ? `?${query}${location.hash}` : location.pathname + location.hash);
  };
  bar.addEventListener("change", show);
  bar.addEventListener("reset", () => setTimeout(show));
  gallery.before(bar);
  show();
});
