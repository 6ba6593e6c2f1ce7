"use strict";
// Tables are sorted and searched. Without this script the page says the same.
{
  const order = new Intl.Collator("en", { numeric: true });
  const keyOf = (cell, numeric) => {
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  };
  const compare = (one, two) => typeof one === "number" ? one - two : order.compare(one, two);

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
    const part = table.closest("section"), tools = part.querySelector(".tools"), status = part.querySelector("[role=status]");
    let sorted = "";
    const say = () => {
      if (!status) return;
      const shown = rows.filter((row) => !row.hidden).length;
      status.textContent = (shown === rows.length ? `${rows.length} cells` : `${shown} of ${rows.length} cells`) + sorted;
    };
    heads.forEach((head, at) => head.querySelector("button")?.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending", numeric = head.classList.contains("n");
      const keyed = rows.map((row, place) => [keyOf(row.cells[at], numeric), place, row]);
      keyed.sort(([one, first], [two, second]) => {
        if (one === null || two === null) return (one === null) - (two === null) || first - second;
        return (down ? compare(two, one) : compare(one, two)) || first - second;
      });
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...keyed.map(([, , row]) => row));
      sorted = `, by ${head.innerText.trim()}, ${down ? "descending" : "ascending"}`;
      say();
    }));
    if (!tools) continue;
    const words = rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());
    tools.querySelector("input").addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, at) => { row.hidden = !wanted.every((word) => words[at].includes(word)); });
      say();
    });
    tools.hidden = false;
    say();
  }

  // A card is a stop of the keyboard only where there is something to scroll.
  const stops = new ResizeObserver((entries) => {
    for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  });
  for (const card of document.querySelectorAll("figure .card")) stops.observe(card);
}
