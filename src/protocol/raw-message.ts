import { MAX_DELAY_MS } from "../core/limits.ts";
import { keyProblem, publishedKeyProblem } from "../core/names.ts";
import { spreadLane } from "../core/spread.ts";
import type { NewMessage } from "../log/message-log.ts";
import { IssueList } from "./issues.ts";
import { type HeaderPair, headerIssues, headersText } from "./message-headers.ts";
import { contentTypeProblem, DEFAULT_CONTENT_TYPE, type MakeId } from "./publish-body.ts";

/**
 * A message from the headers of a raw publish; its body is added by the caller. An HTTP header carries no
 * Unicode, so ID and partition key are percent-encoded UTF-8, and header values are plain ASCII as they
 * stand. The platform joins repeated headers with a comma before anybody sees them.
 */
export type RawMessage = Omit<NewMessage, "body" | "contentType"> & { contentType: string };

const PREFIX = "x-fairlane-";
const HEADER_PREFIX = "x-fairlane-header-";
const ASCII = /^[\t -~]*$/;

export function readRawHeaders(
  headers: Iterable<[string, string]>,
  makeId: MakeId,
): { message: RawMessage; issues: IssueList } {
  const issues = new IssueList();
  const pairs: HeaderPair[] = [];
  let id: string | null = null;
  let partitionKey: string | null = null;
  let contentType = DEFAULT_CONTENT_TYPE;
  let delayMs = 0;
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    if (name === "content-type") contentType = checked(name, value, contentTypeProblem(value), issues);
    else if (!name.startsWith(PREFIX)) continue;
    else if (name.startsWith(HEADER_PREFIX)) pairs.push([name.slice(HEADER_PREFIX.length), value]);
    else if (name === "x-fairlane-id") id = readEncoded(name, value, keyProblem, issues);
    else if (name === "x-fairlane-partition-key") {
      partitionKey = readEncoded(name, value, publishedKeyProblem, issues);
    } else if (name === "x-fairlane-delay-ms") delayMs = readDelay(name, value, issues);
    else issues.add(name, "is not a known header");
  }
  checkPairs(pairs, issues);
  const decidedId = id ?? makeId();
  const message = {
    id: decidedId,
    partitionKey: partitionKey ?? spreadLane(decidedId),
    contentType,
    headers: issues.isEmpty ? headersText(pairs) : "",
    delayMs,
  };
  return { message, issues };
}

function checked(name: string, value: string, problem: string | null, issues: IssueList): string {
  if (problem !== null) issues.add(name, problem);
  return value;
}

function readEncoded(
  name: string,
  value: string,
  problemOf: (key: string) => string | null,
  issues: IssueList,
): string {
  const decoded = percentDecoded(value);
  if (decoded === null) issues.add(name, "must be percent-encoded UTF-8");
  else checked(name, decoded, problemOf(decoded), issues);
  return decoded ?? "";
}

/** null: not ASCII, a stray %, or bytes that are not UTF-8. */
function percentDecoded(value: string): string | null {
  if (!ASCII.test(value)) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

function readDelay(name: string, value: string, issues: IssueList): number {
  const delayMs = /^[0-9]{1,12}$/.test(value) ? Number(value) : Number.NaN;
  if (delayMs <= MAX_DELAY_MS) return delayMs;
  issues.add(name, `must be an integer from 0 to ${MAX_DELAY_MS}`);
  return 0;
}

function checkPairs(pairs: readonly HeaderPair[], issues: IssueList): void {
  for (const { name, message } of headerIssues(pairs)) issues.add(`${HEADER_PREFIX}${name ?? ""}`, message);
  for (const [name, value] of pairs) {
    if (!ASCII.test(value as string)) issues.add(`${HEADER_PREFIX}${name}`, "must be printable ASCII");
  }
}
