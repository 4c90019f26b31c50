// One memory in the list: its text, where it comes from, and what can be done with it.

import { call } from "./api.js";
import { confirmed, element } from "./dom.js";
import { link } from "./page.js";

export function button(text, className = "quiet") {
  return element("button", { type: "button", className, textContent: text });
}

export class MemoryEntry {
  #memory;
  #view;
  #list;
  #path;

  /**
   * @param memory as the API tells it
   * @param view {texts, locale, tag}, as OwnPage gives it
   * @param list told of what happens: `run(work)`, `changed(text, memory)`
   */
  constructor({ memory, view, list }) {
    this.#memory = memory;
    this.#view = view;
    this.#list = list;
    this.#path = `memories/${encodeURIComponent(memory.id)}`;
    this.node = element("li", { className: memory.pinned ? "pinned" : "" });
    this.#draw();
  }

  focus() {
    this.editing.focus();
  }

  #draw() {
    const { texts: t } = this.#view;
    const memory = this.#memory;
    this.editing = this.#action(t.edit, () => this.#edit());
    this.past = this.#action(t.history, () => this.#showHistory());
    this.past.setAttribute("aria-expanded", "false");
    const source = this.#source(memory);
    this.node.replaceChildren(
      element("p", { className: "text", textContent: memory.text }),
      element("p", { className: "hint", textContent: this.#described() }),
      ...(source ? [source] : []),
      element("div", { className: "actions" },
        this.editing,
        this.#action(memory.pinned ? t.unpin : t.pin, () => this.#pin()),
        this.past,
        this.#action(t.forget, () => this.#forget(), "quiet danger-text")),
    );
  }

  #action(text, act, className) {
    const made = button(text, className);
    made.setAttribute("aria-label", `${text}: ${this.#memory.text}`);
    made.addEventListener("click", act);
    return made;
  }

  #described() {
    const { texts: t } = this.#view;
    const { kind, importance, origin, reinforcements, expires_at_s: expires } = this.#memory;
    return [
      t.kinds[kind],
      t.levelIs(t.levels[importance - 1]),
      t.origins[origin],
      reinforcements > 0 ? t.told(reinforcements) : "",
      expires === null ? t.forGood : t.until(this.#date(expires)),
    ].filter(Boolean).join(" · ");
  }

  /** The chat in which it was said; one that is gone meanwhile is told so by Open WebUI. */
  #source({ source }) {
    if (!source.chat_id) return null;
    const { texts: t } = this.#view;
    const target = new URL(`../../c/${encodeURIComponent(source.chat_id)}`, document.baseURI).href;
    return element("p", {}, link(source.at_s ? t.source(this.#date(source.at_s)) : t.sourceUndated, target));
  }

  #date(at_s) {
    const { tag, locale } = this.#view;
    const language = tag.toLowerCase().startsWith(locale) ? tag.replace("_", "-") : locale;
    return new Intl.DateTimeFormat(language, { dateStyle: "long" }).format(new Date(at_s * 1000));
  }

  #edit() {
    const { texts: t } = this.#view;
    const { id, text, importance } = this.#memory;
    const words = element("textarea", { id: `text-${id}`, value: text });
    const level = element("select", { id: `level-${id}` },
      ...t.levels.map((name, index) => element("option", { value: index + 1, textContent: name })));
    level.value = importance;
    const save = element("button", { type: "submit", textContent: t.saveEdit });
    const cancel = button(t.cancel);
    const leave = () => {
      this.#draw();
      this.focus();
    };
    cancel.addEventListener("click", leave);
    const form = element("form", {},
      element("label", { htmlFor: words.id, textContent: t.text }), words,
      element("label", { htmlFor: level.id, textContent: t.level }), level,
      element("div", { className: "actions" }, save, cancel));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(words, Number(level.value));
    });
    this.node.replaceChildren(form);
    words.focus();
  }

  async #save(words, importance) {
    const done = await this.#list.run(async () => {
      const memory = await call("PUT", this.#path, { text: words.value, importance });
      await this.#list.changed(this.#view.texts.edited, memory);
    });
    if (!done) {
      words.setAttribute("aria-invalid", "true");
      words.focus();
    }
  }

  #pin() {
    const { texts: t } = this.#view;
    return this.#list.run(async () => {
      const memory = await call("PUT", `${this.#path}/pin`, { pinned: !this.#memory.pinned });
      await this.#list.changed(memory.pinned ? t.pinnedNow : t.unpinnedNow, memory);
    });
  }

  async #forget() {
    const t = this.#view.texts;
    if (!(await confirmed({ title: t.forgetTitle, text: t.forgetText, yes: t.confirm, no: t.cancel }))) return;
    await this.#list.run(async () => {
      const { forgotten } = await call("DELETE", this.#path);
      await this.#list.changed(t.forgotten(forgotten));
    });
  }

  async #showHistory() {
    const { texts: t } = this.#view;
    const opened = this.node.querySelector(".history");
    this.past.setAttribute("aria-expanded", String(!opened));
    this.past.textContent = opened ? t.history : t.hideHistory;
    this.past.setAttribute("aria-label", `${this.past.textContent}: ${this.#memory.text}`);
    if (opened) {
      opened.remove();
      return;
    }
    await this.#list.run(async () => {
      const [, ...former] = (await call("GET", `${this.#path}/history`)).memories;
      const entries = former.map((memory) => element("li", {},
        element("p", { className: "text", textContent: memory.text }),
        element("p", { className: "hint", textContent: t.former(this.#date(memory.created_at_s)) }),
        this.#source(memory)));
      this.node.append(entries.length > 0
        ? element("ul", { className: "history" }, ...entries)
        : element("p", { className: "history hint", textContent: t.noFormer }));
    });
  }
}
