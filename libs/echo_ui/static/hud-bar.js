// The strip below the message box: the gauge, and a button for the quick actions. Its own shadow tree keeps
// Open WebUI's styles out and ours in.

import { element } from "./dom.js";
import { chatId } from "./hud-place.js";
import { Format } from "./hud-format.js";
import { meter, stateOf } from "./hud-meter.js";
import { openDrawer } from "./hud-drawer.js";
import { openPanel } from "./hud-panel.js";

const STYLES = ["hud.css", "hud-dialog.css", "charts.css"];

export class Bar {
  constructor({ id, tag, texts }) {
    this.tag = tag;
    this.texts = texts;
    this.format = new Format(tag);
    this.host = element("div", { id, lang: texts.lang });
    this.root = this.host.attachShadow({ mode: "open" });
    const [style, ...more] = STYLES.map((name) => element("link", { rel: "stylesheet", href: `/echo/hud/static/${name}` }));
    this.gauge = element("button", { type: "button", className: "gauge", "aria-haspopup": "dialog" });
    this.drawer = element("button", { type: "button", className: "more", "aria-haspopup": "dialog" }, "⋯");
    this.drawer.setAttribute("aria-label", texts.drawer);
    this.drawer.title = texts.drawer;
    this.told = element("span", { className: "unseen", role: "status" });
    this.strip = element("div", { className: "strip", role: "group", "aria-label": texts.hud });
    this.strip.append(this.gauge, this.drawer, this.told);
    this.strip.hidden = true;
    style.addEventListener("load", () => (this.strip.hidden = false));
    this.root.append(style, ...more, this.strip);
    this.gauge.addEventListener("click", () => openPanel(this.#given()));
    this.drawer.addEventListener("click", () => openDrawer({ ...this.#given(), chatId: chatId() }));
    // Keys pressed here are not meant for the message box, in whose form the strip stands.
    this.host.addEventListener("keydown", (event) => event.stopPropagation());
    this.data = null;
  }

  theme(dark) {
    const wanted = dark ? "dark" : "light";
    if (this.host.dataset.theme !== wanted) this.host.dataset.theme = wanted;
  }

  /** Draw the figures; null before the first answer. */
  show(data) {
    this.data = data;
    const t = this.texts;
    const f = this.format;
    if (!data?.turn) {
      this.gauge.dataset.state = "calm";
      this.gauge.setAttribute("aria-label", `${t.context}: ${t.empty}. ${t.open}`);
      this.gauge.replaceChildren(meter(0), element("span", { textContent: t.emptyShort }));
      return;
    }
    const state = stateOf(data);
    const share = f.percent(data.fraction);
    const amount = `${f.short(data.fill_tokens)} / ${f.short(data.window_tokens)}`;
    const spoken = t.spoken(share, f.tokens(data.fill_tokens), f.tokens(data.window_tokens));
    const warning = state === "exhausted" ? t.exhausted : state === "full" ? t.full : "";
    this.gauge.dataset.state = state;
    this.gauge.setAttribute("aria-label", [spoken, data.turn.level, warning, t.open].filter(Boolean).join(". "));
    this.gauge.replaceChildren(
      meter(data.fraction, data.marks),
      element("span", { className: "share", textContent: share }),
      element("span", { className: "amount", textContent: amount }),
      element("span", { className: "chip", textContent: data.turn.level }),
      element("span", { className: "cost", textContent: f.money(data.chat.usd) }),
    );
    if (warning) this.gauge.append(element("span", { className: "warning", textContent: warning }));
    if (this.told.textContent !== warning) this.told.textContent = warning;
  }

  #given() {
    return { root: this.root, data: this.data, texts: this.texts, format: this.format };
  }
}
