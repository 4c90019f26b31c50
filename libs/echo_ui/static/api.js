// Talks to ECHO's key API with the token that Open WebUI keeps for this browser.

import { stored } from "./i18n.js";

const DEADLINE_MS = 30_000;

/** What went wrong: "signed-out", "forbidden", "off", "offline", "failed" or "told" (the server explained it). */
export class ApiError extends Error {
  constructor(kind, texts = null, code = "") {
    super(kind);
    this.kind = kind;
    this.texts = texts;
    this.code = code;
  }
}

export function signedIn() {
  return stored("token") !== "";
}

/** Call `../api/<path>` and give back the decoded answer; throws ApiError. */
export async function call(method, path, body) {
  if (!signedIn()) throw new ApiError("signed-out");
  const headers = { Authorization: `Bearer ${stored("token")}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const signal = AbortSignal.timeout(DEADLINE_MS);
  let response;
  try {
    response = await fetch(new URL(`../api/${path}`, document.baseURI), {
      method,
      headers,
      signal,
      cache: "no-store",
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError("offline");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  if (response.status === 401) throw new ApiError("signed-out");
  if (response.status === 403) throw new ApiError("forbidden");
  if (answer?.message?.en) throw new ApiError("told", answer.message, answer.code);
  // Without its routes, Open WebUI answers an unknown path with its own page or with 404 or 405.
  if (response.ok || response.status === 404 || response.status === 405) throw new ApiError("off");
  throw new ApiError("failed");
}
