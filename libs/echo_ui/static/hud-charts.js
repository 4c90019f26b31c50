// The charts of a chat. The server draws them as SVG; each has its figures as a table beside it.

import { element } from "./dom.js";
import { fetchHud } from "./hud-api.js";

/** Put the charts into a section that holds a heading and a line of status. */
export async function fillCharts(section, chatId, texts) {
  const status = section.querySelector("[role=status]");
  try {
    const query = new URLSearchParams({ chat_id: chatId, locale: texts.lang });
    const told = await fetchHud(`/charts?${query}`);
    const charts = told?.charts ?? [];
    status.textContent = charts.length ? "" : texts.noCharts;
    status.hidden = charts.length > 0;
    section.append(...charts.map((chart) => drawn(chart, texts)));
  } catch (error) {
    console.info("ECHO: the charts could not be read.", error);
    status.textContent = texts.failed;
  }
}

function drawn(chart, texts) {
  const picture = document.importNode(new DOMParser().parseFromString(chart.svg, "image/svg+xml").documentElement, true);
  const legend = chart.legend.map((entry) =>
    element("li", {}, element("span", { className: `key ${entry.style}` }), entry.name),
  );
  return element(
    "figure",
    {},
    element("figcaption", {}, element("strong", { textContent: chart.title }), ` ${chart.summary}`),
    picture,
    chart.legend.length > 1 ? element("ul", { className: "legend" }, ...legend) : null,
    element("details", {}, element("summary", { textContent: texts.figures }), table(chart)),
  );
}

function table(chart) {
  const head = chart.head.map((text) => element("th", { scope: "col", textContent: text }));
  const rows = chart.rows.map(([name, ...values]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", textContent: name }),
      ...values.map((value) => element("td", { textContent: value })),
    ),
  );
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}
