import { PAGE_HTML, PAGE_SCRIPT, PAGE_STYLE } from "../../dashboard/assets.generated.ts";

/**
 * The dashboard's files. They hold no data and need no token: the page asks its user for one and calls the API with it.
 */
interface PageFile {
  contentType: string;
  text: string;
}

const HTML: PageFile = { contentType: "text/html; charset=utf-8", text: PAGE_HTML };

const PAGE_FILES: Readonly<Record<string, PageFile>> = {
  "/ui": HTML,
  "/ui/": HTML,
  "/ui/app.js": { contentType: "text/javascript; charset=utf-8", text: PAGE_SCRIPT },
  "/ui/style.css": { contentType: "text/css; charset=utf-8", text: PAGE_STYLE },
};

export const PAGE_PATHS: readonly string[] = Object.keys(PAGE_FILES);

/** Nothing but this server's own files and calls: what gets into the page by a name or a body can load and send nothing. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  // A new version of the Worker comes with a new page: asked for each time, sent only where it differs.
  "cache-control": "no-cache",
};

/** By text: `/ui` and `/ui/` are one file. The digests themselves are kept, not promises, which belong to one request. */
const etags = new Map<string, string>();

/** GET or HEAD of one of `PAGE_PATHS`. */
export async function servePage(path: string, requestHeaders: Headers, requestId: string): Promise<Response> {
  const file = PAGE_FILES[path];
  if (file === undefined) throw new Error(`${path} is no file of the dashboard`);
  const etag = await etagOf(file.text);
  const headers = { ...HEADERS, etag, "x-request-id": requestId };
  if (namesEtag(requestHeaders.get("if-none-match"), etag)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(file.text, { headers: { ...headers, "content-type": file.contentType } });
}

async function etagOf(text: string): Promise<string> {
  const known = etags.get(text);
  if (known !== undefined) return known;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const etag = `"${Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
  etags.set(text, etag);
  return etag;
}

/** RFC 9110, 13.1.2: compared weakly, since what compresses on the way makes a weak one of it. */
function namesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}
