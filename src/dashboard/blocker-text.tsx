import type { Blocker } from "../client/fairlane.ts";
import { formatCount } from "./format.ts";
import { Ago, Countdown } from "./moment.tsx";
import { Name } from "./name.tsx";

/** One thing that must pass before the message is delivered. */
export function BlockerText({ blocker }: { blocker: Blocker }) {
  switch (blocker.kind) {
    case "group-paused":
      return <>The group is paused.</>;
    case "log-unavailable":
      return (
        <>
          The log cannot be read; tried again <Countdown atMs={blocker.until} />.
        </>
      );
    case "no-subscriber":
      return blocker.route === undefined ? (
        <>The group has no live subscriber.</>
      ) : (
        <>
          Route <Name text={blocker.route} /> has no live subscriber.
        </>
      );
    case "nobody-asking":
      return <>{formatCount(blocker.subscribers)} live, and none of them has a receive open.</>;
    case "lease":
      return (
        <>
          The lane is held by <Name text={blocker.subscriber} />, which does not ask; its lease ends{" "}
          <Countdown atMs={blocker.expiresAt} />.
        </>
      );
    case "share":
      return blocker.subscriber === null ? (
        <>By fair share no asking subscriber may take one more lane.</>
      ) : (
        <>
          By fair share <Name text={blocker.subscriber} /> must give the lane up first
          <Until atMs={blocker.until} />.
        </>
      );
    case "message":
      return (
        <>
          It waits behind{" "}
          {blocker.id !== undefined && (
            <>
              <Name text={blocker.id} /> at{" "}
            </>
          )}
          offset {blocker.offset}, which is {blocker.state.replaceAll("-", " ")}
          {blocker.attempt !== undefined && ` (attempt ${blocker.attempt})`}
          {blocker.subscriber !== undefined && (
            <>
              {" "}
              with <Name text={blocker.subscriber} />
            </>
          )}
          {blocker.deliveredAt !== undefined && (
            <>
              , delivered <Ago atMs={blocker.deliveredAt} />
            </>
          )}
          <Until atMs={blocker.until} />
          {blocker.reason !== undefined && (
            <>
              : <Name text={blocker.reason} lines={4} />
            </>
          )}
        </>
      );
    case "in-flight-limit":
      return (
        <>
          {formatCount(blocker.inFlight)} of at most {formatCount(blocker.limit)} deliveries of the lane are
          under way
          <Until atMs={blocker.until} />.
        </>
      );
    case "failed-limit":
      return <>As many failed messages wait as may.</>;
    case "unread":
      return <>Dispatch has not read so far yet.</>;
  }
}

function Until({ atMs }: { atMs: number | null }) {
  if (atMs === null) return null;
  return (
    <>
      {" "}
      (ends <Countdown atMs={atMs} />)
    </>
  );
}
