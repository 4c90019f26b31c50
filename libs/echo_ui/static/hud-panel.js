// The dialog behind the gauge: everything that is known of the context, the cost, the model and the quota.

import { element } from "./dom.js";
import { fillCharts } from "./hud-charts.js";
import { compactionPart } from "./hud-compaction.js";
import { openDialog } from "./hud-dialog.js";
import { meter, stateOf } from "./hud-meter.js";

/** Open the details in a modal dialog; the charts follow when they have been fetched. */
export function openPanel({ root, data, texts, format }) {
  const body = openDialog({ root, title: texts.context, texts, className: "panel" });
  if (!data?.turn) {
    body.append(element("p", { textContent: texts.empty }));
    return;
  }
  const charts = section(texts.charts, element("p", { role: "status", textContent: texts.loading }));
  body.append(...sections(data, texts, format), charts);
  fillCharts(charts, data.chat_id, texts);
}

function sections(data, t, f) {
  return [
    contextPart(data, t, f),
    compactionPart(data, t, f),
    turnPart(data, t, f),
    modelPart(data, t),
    quotaPart(data, t, f),
  ];
}

function section(title, ...children) {
  return element("section", {}, element("h3", { textContent: title }), ...children);
}

/** Names and values, in two columns; entries without a value are left out. */
function facts(entries) {
  const list = element("dl", {});
  for (const [name, value] of entries) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value })));
  }
  return list;
}

function contextPart(data, t, f) {
  const big = meter(data.fraction, data.marks);
  big.classList.add("big");
  const box = element("div", { className: "gauge" }, big);
  box.dataset.state = stateOf(data);
  const marks = element("ul", { className: "marks" });
  for (const mark of data.marks) {
    marks.append(element("li", { textContent: `${f.percent(mark.fraction)} – ${mark.label[t.lang]}` }));
  }
  return section(
    t.fill,
    box,
    element("p", {
      textContent: t.spoken(f.percent(data.fraction), f.tokens(data.fill_tokens), f.tokens(data.window_tokens)),
    }),
    data.marks.length ? marks : null,
  );
}

function turnPart(data, t, f) {
  const share = (cached, input) => (input ? `${f.tokens(cached)} (${f.percent(cached / input)})` : "–");
  const rows = [
    [t.input, f.tokens(data.turn.input_tokens), f.tokens(data.chat.input_tokens)],
    [
      t.cached,
      share(data.turn.cached_tokens, data.turn.input_tokens),
      share(data.chat.cached_tokens, data.chat.input_tokens),
    ],
    [t.output, f.tokens(data.turn.output_tokens), f.tokens(data.chat.output_tokens)],
    [t.cost, f.money(data.turn.usd), f.money(data.chat.usd)],
    [t.answers, "1", f.tokens(data.chat.turns)],
  ];
  const head = element("tr", {}, ...["", t.turn, t.chat].map((text) => heading("col", text)));
  const lines = rows.map(([name, ...values]) =>
    element("tr", {}, heading("row", name), ...values.map((value) => element("td", { textContent: value }))),
  );
  const unpriced = data.chat.unpriced_turns;
  return section(
    t.usage,
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)),
    unpriced ? element("p", { className: "note", textContent: t.unpriced(unpriced) }) : null,
  );
}

function heading(scope, text) {
  return text ? element("th", { scope, textContent: text }) : element("td", {});
}

function modelPart(data, t) {
  return section(
    t.model,
    facts([
      [t.inUse, data.model || data.turn.model_id],
      [t.level, data.turn.level],
      [t.why, data.why?.[t.lang]],
    ]),
  );
}

function quotaPart(data, t, f) {
  const quota = data.quota ?? {};
  const left = (name, fraction, reset, disabled) => {
    if (disabled) return element("p", { textContent: t.named(name, t.disabled) });
    const known = fraction !== null && fraction !== undefined;
    const text = known ? t.left(f.percent(fraction), reset) : `– (${t.unknown})`;
    const bar = known ? meter(fraction) : null;
    if (bar) bar.classList.add("big");
    const box = element("div", { className: "quota" }, element("p", { textContent: t.named(name, text) }), bar);
    box.dataset.state = known && fraction <= 0 ? "exhausted" : "calm";
    return box;
  };
  const of = (rem, lim) => (rem === "–" && lim === "–" ? "–" : `${rem} / ${lim}`);
  return section(
    t.quota,
    data.exhausted ? element("p", { className: "alert", textContent: t.exhausted }) : null,
    left(t.fiveHours, quota.quota_5h_fraction, quota.quota_5h_reset, quota.quota_5h_disabled),
    left(t.weekly, quota.quota_weekly_fraction, quota.quota_weekly_reset, false),
    facts([
      [t.perDay, of(quota.quota_rpd_rem, quota.quota_rpd_lim)],
      [t.perMinute, of(quota.quota_rpm_rem, quota.quota_rpm_lim)],
    ]),
    data.quota_note ? element("p", { className: "note", textContent: data.quota_note[t.lang] }) : null,
  );
}
