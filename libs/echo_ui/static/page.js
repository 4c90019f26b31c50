// What ECHO's own pages share: language, theme, the frame around the content, and how problems are told.

import { ApiError } from "./api.js";
import { element } from "./dom.js";
import { languageTag, localeOf, stored } from "./i18n.js";

function applyTheme() {
  const theme = stored("theme");
  const follows = theme === "" || theme === "system";
  const light = theme === "light" || theme === "her";
  document.documentElement.dataset.theme = follows ? "system" : light ? "light" : "dark";
}

/** Where the user came from when that was a page of this Open WebUI, else its start page. */
function chatUrl() {
  const home = new URL("../../", document.baseURI);
  const from = URL.parse?.(document.referrer);
  return from?.origin === home.origin && from.pathname.includes("/c/") ? from.href : home.href;
}

export function link(text, href, properties = {}) {
  return element("a", { href, textContent: text, ...properties });
}

/** One of ECHO's pages, drawn in the user's language and theme, and anew when one of these changes. */
export class OwnPage {
  #texts;
  #load;
  #main = document.getElementById("page");

  /**
   * @param texts by language: those of i18n.js, and the page's own with its `title` and `signedOutHelp`
   * @param load given the page, draws the content by `show`; may throw an ApiError
   */
  constructor(texts, load) {
    this.#texts = texts;
    this.#load = load;
    // Signing in or out and changing language or theme happen in Open WebUI's own tabs.
    addEventListener("storage", (event) => {
      if (event.key === "theme") applyTheme();
      else if (event.key === null || event.key === "token" || event.key === "locale") this.reload();
    });
    applyTheme();
    this.reload();
  }

  /** The user's language tag, the language of the page, and its texts. */
  view() {
    const tag = languageTag();
    const locale = localeOf(tag);
    return { tag, locale, texts: this.#texts[locale] };
  }

  show(...content) {
    const { texts, locale } = this.view();
    document.documentElement.lang = locale;
    document.title = `${texts.title} – ECHO`;
    this.#main.replaceChildren(
      element("nav", {}, link(`← ${texts.back}`, chatUrl())),
      element("h1", { textContent: texts.title }),
      ...content,
    );
  }

  async reload() {
    this.show(element("p", { role: "status", textContent: this.view().texts.loading }));
    try {
      await this.#load(this);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problem(error.kind === "told" ? "failed" : error.kind, error.texts);
    }
  }

  /** Tell in place of the content why there is none; arguments as in ApiError. */
  problem(kind, explained) {
    const { texts, locale } = this.view();
    if (kind === "signed-out") {
      // After the sign-in Open WebUI sends the browser back here.
      const target = new URL("../../auth", document.baseURI);
      target.searchParams.set("redirect", location.pathname);
      const signIn = link(texts.signIn, target.href, { className: "button" });
      this.show(element("section", { role: "alert" },
        element("h2", { textContent: texts.signedOut }), element("p", { textContent: texts.signedOutHelp }), signIn));
      return;
    }
    const retry = element("button", { type: "button", textContent: texts.retry });
    retry.addEventListener("click", () => this.reload());
    const text = explained?.[locale] ?? texts[kind];
    this.show(element("section", { role: "alert" }, element("p", { textContent: text }), retry));
  }
}
