// What the HUD asks the server, with the token that Open WebUI keeps for this browser.

import { languageTag, stored } from "./i18n.js";

const DEADLINE_MS = 20_000;

/** ECHO's own data below `/echo/api/hud`; null when ECHO refuses or is switched off, an exception when offline. */
export async function fetchHud(path, signal) {
  const answer = await ask(`/echo/api/hud${path}`, { signal });
  return answer.ok ? answer.json() : null;
}

/** Change something of ECHO's; the decoded answer. Throws with `texts` in both languages when ECHO explains why not. */
export async function sendHud(method, path, form) {
  const answer = await ask(`/echo/api/hud${path}`, { method, body: JSON.stringify(form) });
  if (answer.ok) return answer.json();
  const told = await answer.json().catch(() => null);
  throw Object.assign(new Error(`${path}: ${answer.status}`), { texts: told?.message });
}

/** Call Open WebUI as its own page does; the decoded answer, an exception when it is refused. */
export async function callOpenWebUI(path, body) {
  const answer = await ask(path, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

/** Change some of the user's own valves of a function; the others stay as they are. */
export async function changeValves(functionId, changes) {
  const path = `/api/v1/functions/id/${functionId}/valves/user`;
  const held = (await callOpenWebUI(path)) ?? {};
  return callOpenWebUI(`${path}/update`, { ...held, ...changes });
}

function ask(path, { signal, ...options }) {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  return fetch(path, {
    ...options,
    headers: { Authorization: `Bearer ${stored("token")}`, "Content-Type": "application/json", "Accept-Language": languageTag() },
    cache: "no-store",
    credentials: "same-origin",
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  });
}
