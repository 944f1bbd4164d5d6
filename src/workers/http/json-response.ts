import { JSON_CONTENT_TYPE } from "../../protocol/reply-text.ts";

export function jsonResponse(value: unknown): Response {
  return jsonTextResponse(JSON.stringify(value));
}

export function jsonTextResponse(text: string): Response {
  return new Response(text, { headers: { "content-type": JSON_CONTENT_TYPE } });
}

export function noContent(): Response {
  return new Response(null, { status: 204 });
}
