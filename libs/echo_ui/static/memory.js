// A user's memory page: what ECHO remembers of him, to search, change, pin, take along and delete.

import { ApiError, call } from "./api.js";
import { confirmed, element } from "./dom.js";
import { button, MemoryEntry } from "./memory-entry.js";
import { MEMORY_TEXTS } from "./memory-texts.js";
import { OwnPage } from "./page.js";

/** Memories of one request of an import, as the server takes them. */
const IMPORTED_AT_ONCE = 50;
const TYPING_PAUSE_MS = 250;

class MemoryList {
  #page;
  #view;
  #entries = [];
  #total = 0;
  #asked = 0;
  #busy = false;

  constructor(page) {
    this.#page = page;
    this.#view = page.view();
    const t = this.#view.texts;
    this.search = element("input", { id: "search", type: "search", autocomplete: "off" });
    let typing;
    this.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.#seek(), TYPING_PAUSE_MS);
    });
    this.list = element("ul", { className: "memories" });
    this.count = element("p", { className: "hint", role: "status" });
    this.more = button(t.more);
    this.more.addEventListener("click", () => this.#seek(this.#entries.length));
    this.good = element("div", { role: "status", className: "told good" });
    this.bad = element("div", { role: "alert", className: "told bad" });
  }

  async open() {
    await this.#load();
    this.#page.show(
      element("p", { textContent: this.#view.texts.memoryIntro }),
      this.#tools(), this.good, this.bad, this.count, this.list, this.more);
  }

  /** Do something, one at a time, and tell what went wrong; gives whether it was done. */
  async run(work) {
    if (this.#busy) return false;
    this.#busy = true;
    const { working } = this.#view.texts;
    this.#tell(this.good, working);
    try {
      await work();
      if (this.good.textContent === working) this.#tell(this.good, "");
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    } finally {
      this.#busy = false;
    }
  }

  /** Show what holds now, and what was done; the keyboard stays at the memory that was changed, if it is there. */
  async changed(told, memory) {
    await this.#load();
    this.#tell(this.good, told);
    const entry = this.#entries.find(({ id }) => id === memory?.id)?.entry;
    if (entry) entry.focus();
    else this.search.focus();
  }

  #tools() {
    const t = this.#view.texts;
    const save = button(t.export);
    save.addEventListener("click", () => this.run(() => this.#export()));
    const picked = element("input", { type: "file", accept: "application/json,.json", hidden: true, "aria-label": t.import });
    picked.addEventListener("change", () => this.run(() => this.#import(picked)));
    const load = button(t.import);
    load.addEventListener("click", () => picked.click());
    const clear = button(t.forgetAll, "quiet danger-text");
    clear.addEventListener("click", () => this.#forgetAll());
    return element("div", { className: "tools" },
      element("div", { className: "search" }, element("label", { htmlFor: "search", textContent: t.search }), this.search),
      save, load, picked, clear);
  }

  /** Look again, also while something else is under way: what is typed is never passed over. */
  async #seek(offset = 0) {
    try {
      await this.#load(offset);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #load(offset = 0) {
    const asked = ++this.#asked;
    const wanted = new URLSearchParams({ query: this.search.value.trim(), offset });
    const { memories, total } = await call("GET", `memories?${wanted}`);
    if (asked !== this.#asked) return; // something newer was asked for meanwhile
    const made = memories.map((memory) => ({
      id: memory.id,
      entry: new MemoryEntry({ memory, view: this.#view, list: this }),
    }));
    this.#entries = offset > 0 ? [...this.#entries, ...made] : made;
    this.#total = total;
    this.list.replaceChildren(...this.#entries.map(({ entry }) => entry.node));
    this.#describe();
  }

  #describe() {
    const t = this.#view.texts;
    const none = this.search.value.trim() ? t.nothingFound : t.nothing;
    this.count.textContent = this.#total > 0 ? t.count(this.#entries.length, this.#total) : none;
    this.more.hidden = this.#entries.length >= this.#total;
  }

  async #export() {
    const all = await call("GET", "memories/export");
    const address = URL.createObjectURL(new Blob([JSON.stringify(all, null, 2)], { type: "application/json" }));
    element("a", { href: address, download: "echo-memories.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  async #import(picked) {
    const t = this.#view.texts;
    const text = (await picked.files[0]?.text()) ?? "";
    picked.value = ""; // the same file may be chosen again
    const memories = memoriesOf(text);
    if (memories === null) {
      this.#tell(this.bad, t.notAFile);
      return;
    }
    const sums = { new: 0, same: 0, replaces: 0, history: 0 };
    const refused = [];
    for (let from = 0; from < memories.length; from += IMPORTED_AT_ONCE) {
      const part = await call("POST", "memories/import", { memories: memories.slice(from, from + IMPORTED_AT_ONCE) });
      for (const name of Object.keys(sums)) sums[name] += part[name];
      refused.push(...part.refused);
    }
    await this.changed(t.imported(sums));
    if (refused.length > 0) this.#tellRefused(refused);
  }

  #tellRefused(refused) {
    const { texts: t, locale } = this.#view;
    this.bad.replaceChildren(
      element("p", { textContent: t.refusedOnes }),
      element("ul", {}, ...refused.map(({ text, message }) =>
        element("li", { textContent: `${text} – ${message[locale]}` }))));
  }

  async #forgetAll() {
    const t = this.#view.texts;
    if (!(await confirmed({ title: t.forgetAllTitle, text: t.forgetText, yes: t.confirm, no: t.cancel }))) return;
    await this.run(async () => {
      const { forgotten } = await call("DELETE", "memories");
      await this.changed(t.forgotten(forgotten));
    });
  }

  #fail(error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.kind === "signed-out") {
      this.#page.problem("signed-out");
      return;
    }
    const { texts, locale } = this.#view;
    this.#tell(this.bad, error.kind === "told" ? error.texts[locale] : texts[error.kind]);
  }

  #tell(region, text) {
    this.good.replaceChildren();
    this.bad.replaceChildren();
    if (text) region.append(element("p", { textContent: text }));
  }
}

/** The memories of an exported file; null for any other. */
function memoriesOf(text) {
  try {
    const { format, memories } = JSON.parse(text);
    return format === "echo-memories" && Array.isArray(memories) ? memories : null;
  } catch {
    return null;
  }
}

new OwnPage(MEMORY_TEXTS, (page) => new MemoryList(page).open());
