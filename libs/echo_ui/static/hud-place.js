// Where in Open WebUI the user is, read from the address and a few elements of its page.

/** Whether a chat, empty or not, is on the screen. */
export function onChat() {
  return location.pathname === "/" || location.pathname.startsWith("/c/");
}

/** The chat that is open, "" on an empty one. */
export function chatId() {
  return location.pathname.startsWith("/c/") ? location.pathname.slice(3) : "";
}

/** The models that are chosen, by the names that the page shows. */
export function modelNames() {
  const buttons = document.querySelectorAll("button[id^='model-selector-'][id$='-button']");
  return [...buttons].map((button) => button.textContent.trim()).filter(Boolean);
}
