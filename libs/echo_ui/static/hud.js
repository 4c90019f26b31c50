// The HUD's life in Open WebUI's page: when it is there, for which chat, and where it gets its figures.
//
// Nothing here looks at the messages, so streaming text costs nothing: once a second a few properties are compared.

import { Bar } from "./hud-bar.js";
import { fetchHud } from "./hud-api.js";
import { languageTag, localeOf, stored } from "./i18n.js";
import { chatId, modelNames, onChat } from "./hud-place.js";
import { hudTexts } from "./hud-texts.js";

const LOOK_MS = 1000;
const RETRY_MS = 15_000;
const HOST_ID = "echo-hud";

let running = null;

/** Begin; further calls change nothing. */
export function start() {
  running ??= new Hud();
}

class Hud {
  #seen = "";
  #gauge = null;
  #shown = false;
  #again = 0;
  #bar = null;
  #asking = null;

  constructor() {
    window.addEventListener("echo:gauge", (event) => this.#told(event.detail));
    window.navigation?.addEventListener("currententrychange", () => this.#look());
    window.addEventListener("echo:changed", () => this.#anew());
    document.addEventListener("visibilitychange", () => this.#look());
    setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  /** Compare where the page is with what is shown; asks the server only after a change. */
  #look() {
    if (document.hidden) return;
    const chat = chatId();
    const names = modelNames();
    const seen = JSON.stringify([chat, names, location.pathname === "/" || chat !== "", stored("token") !== ""]);
    if (seen !== this.#seen || (this.#again && Date.now() > this.#again)) {
      const sameChat = this.#gauge !== null && this.#gauge.chat_id === chat;
      if (!sameChat && !this.#temporary()) this.#gauge = null;
      this.#seen = seen;
      this.#again = 0;
      this.#ask(chat, names);
    }
    this.#place();
  }

  /** Something was changed here, so what is shown is old. */
  #anew() {
    this.#seen = "";
    this.#look();
  }

  #temporary() {
    return this.#gauge?.chat_id.startsWith("temporary:") && location.search.includes("temporary-chat=true");
  }

  /** A turn has ended; the server sends its figures along. An answer still on its way may be older than they are. */
  #told(gauge) {
    if (!gauge || (gauge.chat_id !== chatId() && !gauge.chat_id.includes(":"))) return;
    this.#asking?.abort();
    this.#gauge = gauge;
    this.#shown = true;
    this.#place();
    this.#bar?.show(gauge);
  }

  async #ask(chat, names) {
    this.#asking?.abort();
    if (!stored("token") || !onChat()) {
      this.#hide();
      return;
    }
    const asking = (this.#asking = new AbortController());
    const query = new URLSearchParams({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone ?? "" });
    if (chat) query.set("chat_id", chat);
    for (const name of names) query.append("model", name);
    try {
      const told = await fetchHud(`?${query}`, asking.signal);
      if (asking.signal.aborted) return;
      if (told === null) {
        this.#hide();
        return;
      }
      this.#shown = told.display === "page" && told.is_echo;
      if (told.gauge) this.#gauge = told.gauge;
      this.#place();
      this.#bar?.show(this.#gauge);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#again = Date.now() + RETRY_MS;
      console.info("ECHO: the figures could not be read; trying again.", error);
    }
  }

  #hide() {
    this.#shown = false;
    this.#place();
  }

  /** Put the bar below the message box, in the flow of the page, where it covers nothing; or take it away. */
  #place() {
    const box = this.#shown && onChat() ? document.getElementById("message-input-container") : null;
    if (!box) {
      this.#bar?.host.remove();
      return;
    }
    const tag = languageTag();
    if (this.#bar?.tag !== tag) {
      this.#bar?.host.remove();
      this.#bar = new Bar({ id: HOST_ID, tag, texts: hudTexts(localeOf(tag)) });
      this.#bar.show(this.#gauge);
    }
    if (this.#bar.host.previousElementSibling !== box) box.after(this.#bar.host);
    this.#bar.theme(document.documentElement.classList.contains("dark"));
  }
}
