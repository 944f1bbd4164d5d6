/** Fields of requests whose flag has another name. */
const FLAGS = new Map([
  ["partitionKey", "--key"],
  ["body", "--body"],
  ["bodyBase64", "--body"],
  ["contentType", "--content-type"],
  ["delayMs", "--delay"],
  ["id", "--id"],
  ["offset", "--offset"],
  ["limit", "--limit"],
  ["last", "--last"],
  ["after", "--after"],
  ["group", "--group"],
  ["subscriber", "--subscriber"],
  ["topic", "<topic>"],
  ["tenant", "--tenant"],
  ["staleForMs", "--stale-for"],
  ["visibilityTimeoutMs", "--visibility-timeout"],
  ["leaseDurationMs", "--lease-duration"],
  ["maxInFlightPerPartition", "--max-in-flight"],
  ["maxAttempts", "--max-attempts"],
  ["initialBackoffMs", "--backoff"],
  ["multiplier", "--backoff-multiplier"],
  ["maxBackoffMs", "--max-backoff"],
  ["startFrom", "--start-from"],
  ["ttlMs", "--ttl"],
  ["route", "--route"],
  ["retentionMs", "--retention"],
  ["maxRetentionMs", "--max-retention"],
]);

/** `messages[0].partitionKey` is `--key`; a field that no flag sets keeps its name. */
export function fieldAsFlag(path: string): string {
  if (path === "") return "the request";
  const header = /^(?:messages\[0\]\.)?headers(?:\.([^.[\]]+)|\["(.*)"\])?$/.exec(path);
  if (header) return ["--header", header[1] ?? header[2]].filter(Boolean).join(" ");
  const [, place, name = path] =
    /^(?:messages\[([0-9]+)\]\.|ids\[[0-9]+\]\.|retry\.)?([A-Za-z0-9]+)$/.exec(path) ?? [];
  const flag = FLAGS.get(name);
  if (flag === undefined) return path;
  return place === undefined || place === "0" ? flag : `${flag} of message ${Number(place) + 1}`;
}
