// One prompt: its text to edit, what it would be, and its versions to return to.

import { ApiError, call } from "./api.js";
import { confirmed, element } from "./dom.js";
import { purposeOf } from "./prompt-texts.js";

export const LANGUAGES = { en: "English", fr: "Français" };

/** Which text holds, in words. */
export function stateText(state, texts) {
  if (state.version === 0) return texts.shipped(state.shipped_version);
  return texts.ownVersion(state.version) + (state.outdated ? ` – ${texts.outdated}` : "");
}

function button(text, className = "quiet") {
  return element("button", { type: "button", className, textContent: text });
}

export class PromptEditor {
  #key;
  #path;
  #state;
  #view;
  #drafts;
  #onSignedOut;
  #busy = false;

  /**
   * @param key "pis.en"
   * @param path the API's path of this prompt
   * @param state the API's last answer
   * @param view {texts, locale, tag}, as OwnPage gives it
   * @param drafts what is typed and not saved, by key
   * @param onSignedOut called when the server no longer knows the user
   */
  constructor({ key, path, state, view, drafts, onSignedOut }) {
    this.#key = key;
    this.#path = path;
    this.#state = state;
    this.#view = view;
    this.#drafts = drafts;
    this.#onSignedOut = onSignedOut;
    this.nodes = [this.#editor(), this.#look(), this.#history()];
    this.input.value = drafts.get(key) ?? state.prompt.text;
    this.#refresh();
  }

  #editor() {
    const { texts: t, locale } = this.#view;
    const { name, locale: language } = this.#state.prompt;
    this.status = element("p", { className: "state" });
    this.input = element("textarea", { id: "text", spellcheck: false, lang: language, "aria-describedby": "bad" });
    this.input.addEventListener("input", () => this.#typed());
    this.preview = button(t.preview);
    this.preview.addEventListener("click", () => this.#run(() => this.#show(this.input.value)));
    this.keep = button(t.keep, "");
    this.keep.addEventListener("click", () => this.#run(() => this.#save()));
    this.discard = button(t.discard);
    this.discard.addEventListener("click", () => this.#restore());
    this.good = element("div", { role: "status", className: "told good" });
    this.bad = element("div", { id: "bad", role: "alert", className: "told bad" });
    const names = this.#state.placeholders.join(", ");
    return element("section", { "aria-labelledby": "name" },
      element("h2", { id: "name", textContent: `${name} – ${LANGUAGES[language]}` }),
      element("p", { className: "hint", textContent: purposeOf(name, locale) }),
      this.status,
      element("label", { htmlFor: "text", textContent: t.text }),
      this.input,
      names ? element("p", { className: "hint", textContent: t.fillsIn(names) }) : null,
      element("div", { className: "actions" }, this.preview, this.keep, this.discard),
      this.good,
      this.bad);
  }

  #look() {
    const t = this.#view.texts;
    this.read = element("pre", { tabIndex: 0, "aria-labelledby": "read" });
    this.diff = element("pre", { tabIndex: 0, "aria-labelledby": "diff" });
    this.look = element("section", { "aria-labelledby": "look", hidden: true },
      element("h2", { id: "look", textContent: t.preview }),
      element("h3", { id: "diff", textContent: t.changes }), this.diff,
      element("h3", { id: "read", textContent: t.asRead }), this.read);
    return this.look;
  }

  #history() {
    this.list = element("ul", { className: "versions" });
    return element("section", { "aria-labelledby": "versions" },
      element("h2", { id: "versions", textContent: this.#view.texts.versions }), this.list);
  }

  #refresh() {
    const { texts: t } = this.#view;
    const { prompt, versions } = this.#state;
    this.status.textContent = `${stateText(prompt, t)} – ${t.inUse}`;
    const shipped = { version: 0, text: this.#state.shipped };
    this.list.replaceChildren(...[...versions, shipped].map((each) => this.#entry(each)));
    this.#typed();
  }

  #entry(version) {
    const { texts: t, tag, locale } = this.#view;
    const { prompt } = this.#state;
    const name = version.version === 0 ? t.shipped(prompt.shipped_version) : t.version(version.version);
    const parts = [version.text === null ? `${name}: ${t.returned}` : name];
    if (version.author) {
      const format = new Intl.DateTimeFormat(tag.toLowerCase().startsWith(locale) ? tag.replace("_", "-") : locale, {
        dateStyle: "long", timeStyle: "short" });
      parts.push(t.by(version.author, format.format(new Date(version.created_at_s * 1000))));
    }
    if (version.version === prompt.version) parts.push(t.inUse);
    const label = element("span", { textContent: parts.join(" – ") });
    if (version.text === null || version.version === prompt.version) return element("li", {}, label);
    const look = button(t.preview);
    look.setAttribute("aria-label", `${t.preview}: ${name}`);
    look.addEventListener("click", () => this.#run(() => this.#show(version.text)));
    const back = button(t.rollBack);
    back.setAttribute("aria-label", `${t.rollBack}: ${name}`);
    back.addEventListener("click", () => this.#rollBack(version.version));
    return element("li", {}, label, element("div", { className: "actions" }, look, back));
  }

  #typed() {
    const changed = this.input.value !== this.#state.prompt.text;
    if (changed) this.#drafts.set(this.#key, this.input.value);
    else this.#drafts.delete(this.#key);
    this.keep.disabled = this.discard.disabled = !changed;
  }

  #restore() {
    this.input.value = this.#state.prompt.text;
    this.look.hidden = true;
    this.#tell(this.good, "");
    this.#typed();
    this.input.focus();
  }

  async #show(text) {
    const { text: read, diff } = await call("POST", `${this.#path}/preview`, { text });
    this.read.textContent = read;
    const kind = (line) => ({ "+": "added", "-": "removed" })[line[0]] ?? "";
    // The first two lines name the sides, which the heading does.
    const lines = diff.split("\n").slice(2);
    this.diff.replaceChildren(
      ...(diff ? lines.map((line) => element("span", { className: kind(line), textContent: `${line}\n` }))
        : [this.#view.texts.same]));
    this.look.hidden = false;
    this.look.scrollIntoView({ block: "nearest" });
  }

  async #save() {
    this.#hold(await call("PUT", this.#path, { text: this.input.value }), this.#view.texts.kept);
  }

  async #rollBack(version) {
    const t = this.#view.texts;
    if (this.#busy || !(await confirmed({ title: t.rollTitle, text: t.rollText, yes: t.rollYes, no: t.cancel }))) return;
    await this.#run(async () => {
      this.#hold(await call("POST", `${this.#path}/rollback`, { version }), t.rolledBack);
    });
  }

  /** Show what holds now. */
  #hold(state, told) {
    this.#state = state;
    this.input.value = state.prompt.text;
    this.look.hidden = true;
    this.#refresh();
    this.#tell(this.good, told);
  }

  async #run(work) {
    if (this.#busy) return;
    this.#busy = true;
    this.#tell(this.good, this.#view.texts.working);
    try {
      await work();
      if (this.good.textContent === this.#view.texts.working) this.#tell(this.good, "");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#fail(error);
    } finally {
      this.#busy = false;
    }
  }

  #fail(error) {
    if (error.kind === "signed-out") {
      this.#onSignedOut();
      return;
    }
    const { texts, locale } = this.#view;
    this.#tell(this.bad, error.kind === "told" ? error.texts[locale] : texts[error.kind]);
    if (error.code === "prompt_refused") {
      this.input.setAttribute("aria-invalid", "true");
      this.input.focus();
    }
  }

  #tell(region, text) {
    this.input.removeAttribute("aria-invalid");
    this.good.replaceChildren();
    this.bad.replaceChildren();
    if (text) region.append(element("p", { textContent: text }));
  }
}
