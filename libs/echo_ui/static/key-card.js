// One key on the page: what is stored, a form to save another, test and delete.

import { ApiError, call } from "./api.js";
import { confirmed, element } from "./dom.js";

/**
 * @param kind "own" or "instance"
 * @param path the API's path of this key
 * @param state the API's last answer
 * @param view {texts, locale, tag}: the texts, their language, and the user's full language tag
 * @param onSignedOut called when the server no longer knows the user
 * @param onChange called with the new state after it changed
 */
export class KeyCard {
  #kind;
  #path;
  #state;
  #view;
  #onSignedOut;
  #onChange;
  #busy = false;

  constructor({ kind, path, state, view, onSignedOut, onChange }) {
    this.#kind = kind;
    this.#path = path;
    this.#state = state;
    this.#view = view;
    this.#onSignedOut = onSignedOut;
    this.#onChange = onChange;
    this.#build();
    this.#refresh();
  }

  /** Another key now answers in place of this one. */
  fallBackTo(source) {
    this.#state = { ...this.#state, fallback: source };
    this.#refresh();
  }

  #build() {
    const t = this.#view.texts;
    const id = (part) => `${this.#kind}-${part}`;
    this.status = element("p", { className: "state" });
    this.label = element("label", { htmlFor: id("key") });
    this.input = element("input", {
      id: id("key"),
      type: "password",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: false,
      maxLength: 512,
      "aria-describedby": id("told"),
      "data-1p-ignore": "",
      "data-lpignore": "true",
    });
    this.reveal = element("button", { type: "button", className: "quiet" });
    this.save = element("button", { type: "submit", textContent: t.save });
    this.form = element(
      "form",
      { noValidate: true },
      this.label,
      element("div", { className: "entry" }, this.input, this.reveal, this.save),
    );
    this.test = element("button", { type: "button", className: "quiet", textContent: t.test });
    this.remove = element("button", { type: "button", className: "quiet danger-text", textContent: t.remove });
    this.actions = element("div", { className: "actions" }, this.test, this.remove);
    // Two regions, because a screen reader waits its turn for good news and interrupts for bad.
    this.good = element("div", { role: "status", className: "told good" });
    this.bad = element("div", { id: id("told"), role: "alert", className: "told bad" });
    this.node = element(
      "section",
      { "aria-labelledby": id("title") },
      element("h2", { id: id("title"), textContent: t[this.#kind] }),
      element("p", { className: "hint", textContent: t[`${this.#kind}Hint`] }),
      this.status,
      this.actions,
      this.form,
      this.good,
      this.bad,
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    this.reveal.addEventListener("click", () => this.#show(this.input.type === "password"));
    this.test.addEventListener("click", () => this.#run(this.test, t.testing, () => this.#ask()));
    this.remove.addEventListener("click", () => this.#delete());
    this.#show(false);
  }

  #refresh() {
    const t = this.#view.texts;
    const key = this.#state.keys[0];
    this.status.textContent = key ? this.#describe(key) : `${t.none} ${this.#withoutKey()}`;
    this.node.classList.toggle("has-key", Boolean(key));
    this.actions.hidden = !key;
    this.test.hidden = Boolean(key?.damaged);
    this.label.textContent = key ? t.replaceKey : t.newKey;
  }

  #describe(key) {
    const t = this.#view.texts;
    if (key.damaged) return t.damaged;
    const format = new Intl.DateTimeFormat(this.#dateTag(), { dateStyle: "long" });
    const date = format.format(new Date(key.updated_at_s * 1000));
    return key.tail.length > 1 ? t.stored(key.tail, date) : t.storedShort(date);
  }

  // A date in a third language inside an English sentence would be read out wrongly.
  #dateTag() {
    const { tag, locale } = this.#view;
    return tag.toLowerCase().startsWith(locale) ? tag.replace("_", "-") : locale;
  }

  #withoutKey() {
    const t = this.#view.texts;
    const { fallback, simulated } = this.#state;
    if (simulated) return t.noneSimulated;
    if (this.#kind === "instance") {
      return fallback === "environment" ? t.instanceFallbackEnvironment : t.instanceFallbackNothing;
    }
    if (fallback === "instance") return t.noneFallbackInstance;
    return fallback === "environment" ? t.noneFallbackEnvironment : t.noneFallbackNothing;
  }

  #show(visible) {
    const t = this.#view.texts;
    this.input.type = visible ? "text" : "password";
    this.reveal.textContent = visible ? t.hide : t.show;
    this.reveal.setAttribute("aria-label", visible ? t.hideLabel : t.showLabel);
  }

  #save() {
    const t = this.#view.texts;
    const key = this.input.value.trim();
    if (!key) {
      this.#tell("bad", t.empty);
      this.#invalid();
      return;
    }
    this.#run(this.save, t.testing, async () => {
      // Asked first, so that a wrong key never takes the place of a good one.
      const { verdict } = await call("POST", `${this.#path}/test`, { key });
      if (verdict === "refused") {
        this.#tell("bad", t.refusedNew, t.refusedHelp);
        this.#invalid();
        return;
      }
      this.save.textContent = t.saving;
      this.#changed(await call("PUT", this.#path, { key }));
      this.input.value = "";
      this.#show(false);
      this.#judge(verdict, t.acceptedSaved, t.simulatedSaved);
    });
  }

  async #delete() {
    const t = this.#view.texts;
    const text = this.#kind === "own" ? t.confirmOwn : t.confirmInstance;
    if (this.#busy || !(await confirmed({ title: t.confirmTitle, text, yes: t.confirm, no: t.cancel }))) return;
    await this.#run(this.remove, t.removing, async () => {
      this.#changed(await call("DELETE", this.#path));
      this.#tell("good", t.removed);
    });
    if (this.actions.hidden) this.input.focus();
  }

  async #ask() {
    const { verdict } = await call("POST", `${this.#path}/test`);
    this.#judge(verdict, this.#view.texts.accepted, this.#view.texts.simulated);
  }

  #judge(verdict, accepted, simulated) {
    const t = this.#view.texts;
    this.node.classList.toggle("has-key", verdict !== "refused");
    if (verdict === "accepted") this.#tell("good", accepted);
    else if (verdict === "simulated") this.#tell("good", simulated);
    else if (verdict === "refused") this.#tell("bad", t.refused, t.refusedHelp);
    else this.#tell("bad", verdict === "limited" ? t.limited : t.unreachable);
  }

  #changed(state) {
    this.#state = state;
    this.#refresh();
    this.#onChange(state);
  }

  async #run(button, label, work) {
    if (this.#busy) return;
    this.#busy = true;
    const text = button.textContent;
    this.#tell("good", "");
    button.textContent = label;
    this.node.setAttribute("aria-busy", "true");
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#fail(error);
    } finally {
      button.textContent = text;
      this.node.removeAttribute("aria-busy");
      this.#busy = false;
    }
  }

  #fail(error) {
    if (error.kind === "signed-out") this.#onSignedOut();
    else if (error.kind === "told") {
      this.#tell("bad", error.texts[this.#view.locale]);
      if (error.code === "key_malformed") this.#invalid();
    } else this.#tell("bad", this.#view.texts[error.kind]);
  }

  #invalid() {
    this.input.setAttribute("aria-invalid", "true");
    this.input.focus();
  }

  #tell(kind, text, steps = []) {
    this.input.removeAttribute("aria-invalid");
    this.good.replaceChildren();
    this.bad.replaceChildren();
    if (!text) return;
    const list = steps.length ? element("ul", {}, ...steps.map((step) => element("li", { textContent: step }))) : null;
    this[kind].append(element("p", { textContent: text }), ...(list ? [list] : []));
  }
}
