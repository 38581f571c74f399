// @ts-check
// Sort, filter and group tables on pages without a server.

/** Makes the headings of a table sort it. @param {HTMLTableElement} table */
function sortable(table) {
  for (const head of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("thead th[data-sort]"))) {
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.sort === "up" ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      for (const each of table.querySelectorAll("thead th")) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      sorted(table);
    });
  }
}

/** Sorts the rows by the heading with `aria-sort`, each body of the table on its own. @param {HTMLTableElement} table */
function sorted(table) {
  const heads = /** @type {HTMLElement[]} */ ([...table.querySelectorAll("thead th")]);
  const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
  if (column < 0) return;
  const sign = heads[column].getAttribute("aria-sort") === "ascending" ? 1 : -1;
  const value = (/** @type {HTMLTableRowElement} */ row) => {
    const { dataset, textContent } = row.cells[column];
    return dataset.value === undefined ? textContent?.trim().toLowerCase() ?? "" : Number(dataset.value);
  };
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("group")); // headings of groups
    const keyed = rows.map((row) => ({ row, key: value(row) }));
    keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0));
    body.append(...keyed.map(({ row }) => row));
  }
}

/** Makes a form filter a table: a field's value must be a line of `data-NAME` of a row; `text` may be anywhere in it, and
 * `group` groups the rows. The filters are kept in the address. @param {HTMLFormElement} form */
function filtering(form) {
  const table = /** @type {HTMLTableElement} */ (document.getElementById(form.dataset.filters ?? ""));
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.classList.contains("group"));
  const fields = /** @type {(HTMLInputElement | HTMLSelectElement)[]} */ ([...form.elements].filter((e) => e.hasAttribute("name")));
  const asked = new URLSearchParams(location.search);
  for (const field of fields) {
    const value = asked.get(field.name);
    if (value === null) continue;
    field.value = value;
    if (field instanceof HTMLSelectElement && field.value !== value) field.add(new Option(value, value, false, true)); // no row here has it
  }

  const usual = (/** @type {HTMLInputElement | HTMLSelectElement} */ field) =>
    field instanceof HTMLSelectElement ? [...field.options].find((option) => option.defaultSelected)?.value ?? "" : "";
  const apply = () => {
    const wanted = fields.filter((field) => field.value).map((field) => /** @type {const} */ ([field.name, field.value]));
    for (const row of rows) row.hidden = !wanted.every(([name, value]) => name === "group" || fits(row, name, value));
    parted(table, rows, Object.fromEntries(wanted).group ?? "");
    const shown = form.querySelector("output");
    const n = rows.filter((row) => !row.hidden).length;
    if (shown) shown.textContent = n < rows.length ? `${n.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown` : "";
    const told = fields.filter((field) => field.value !== usual(field)); // the usual values need no place in the address
    return new URLSearchParams(told.map((field) => [field.name, field.value])).toString();
  };
  const changed = () => {
    const query = apply();
    history.replaceState(null, "", `${location.pathname}${query && "?"}${query}${location.hash}`);
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    changed();
  });
  apply();
}

/** @param {HTMLTableRowElement} row @param {string} name @param {string} value */
function fits(row, name, value) {
  if (name === "text") return (row.dataset.text ?? row.textContent ?? "").toLowerCase().includes(value.toLowerCase());
  return (row.dataset[name] ?? "").split("\n").includes(value);
}

/** Groups rows by their `data-NAME`, with a heading each. @param {HTMLTableElement} table
 * @param {HTMLTableRowElement[]} rows @param {string} name */
function parted(table, rows, name) {
  /** @type {Map<string, HTMLTableRowElement[]>} */
  const parts = new Map();
  for (const row of rows) {
    const value = (name && row.dataset[name]) || "";
    parts.set(value, [...(parts.get(value) ?? []), row]);
  }
  for (const body of [...table.tBodies]) body.remove();
  const sign = name === "date" ? -1 : 1;
  const order = [...parts].sort(([a], [b]) => sign * a.localeCompare(b, "en", { numeric: true }));
  for (const [value, of] of order) {
    const body = table.createTBody();
    if (value && of.some((row) => !row.hidden)) {
      const head = document.createElement("th");
      head.colSpan = table.tHead?.rows[0].cells.length ?? 1;
      head.scope = "rowgroup";
      head.textContent = /^\d+$/.test(value) ? `${name} ${value}` : value.replaceAll("_", " ");
      const row = body.insertRow();
      row.className = "group";
      row.append(head);
    }
    body.append(...of);
  }
  sorted(table);
}

/** Makes the form around a table lead to the comparison of the two picked rows, where that page exists.
 * @param {HTMLFormElement} form */
function picking(form) {
  const pairs = /** @type {[string, string][]} */ (JSON.parse(form.dataset.pairs ?? "[]"));
  const [button, count] = [form.querySelector("button[data-pair]"), form.querySelector("output")];
  if (!(button instanceof HTMLButtonElement) || !count) return;
  const pair = () => {
    const names = new FormData(form).getAll("run");
    const found = pairs.find((both) => names.length === 2 && names.every((name) => both.includes(String(name))));
    button.disabled = !found;
    count.textContent = found || names.length < 2 ? `${names.length || "none"} picked` : "these are not compared in this folder";
    return found;
  };
  form.addEventListener("change", pair);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    const found = pair();
    if (found) location.href = `compare/${found.map(encodeURIComponent).join("/")}.html`;
  });
  addEventListener("pageshow", pair);
}

for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll("table[data-sortable]"))) sortable(table);
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-filters]"))) filtering(form);
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-pairs]"))) picking(form);
