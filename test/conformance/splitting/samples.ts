import type { RouteWish } from "./life.ts";
import type { SplitMessage } from "./split-message.ts";

export const USER_HEADER = "x-user";

/** A message of a user's: `n` tells it from others, and its ID says whose it is. */
export function messageOf(user: string, n: number, more: Partial<SplitMessage> = {}): SplitMessage {
  return {
    id: `${n}-${user}`,
    headers: [[USER_HEADER, user]],
    key: null,
    body: new TextEncoder().encode(`order ${n}`),
    properties: {},
    ...more,
  };
}

/** Messages of these users in turn, numbered on. */
export class Producer {
  private count = 0;

  next(users: readonly string[], more: Partial<SplitMessage> = {}): SplitMessage[] {
    return users.map((user) => messageOf(user, ++this.count, more));
  }
}

export function routeOf(user: string): RouteWish {
  return {
    route: user,
    filter: { header: USER_HEADER, equals: user },
    wants: (id) => id.endsWith(`-${user}`),
  };
}
