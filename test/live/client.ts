import { Fairlane, type FairlaneOptions } from "../../src/client/fairlane.ts";
import { type Live, SECRET } from "./harness.ts";
import { tenantToken } from "./tokens.ts";

/** A client of a live server. It finds the server again after a restart, which may move it. */
export function clientOf(live: Live, options: Partial<FairlaneOptions> = {}): Fairlane {
  const tenant = options.tenant ?? "demo";
  return new Fairlane({
    url: "http://fairlane.test",
    tenant,
    token: tenantToken(SECRET, tenant),
    fetch: (url, init) => fetch(atServer(live, url), init),
    ...options,
  });
}

export function atServer(live: Live, url: string): string {
  const { pathname, search } = new URL(url);
  return live.url + pathname + search;
}

/** A promise, and what settles it. */
export class Gate<T = void> {
  open: (value: T) => void = () => {};
  readonly opened: Promise<T>;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
