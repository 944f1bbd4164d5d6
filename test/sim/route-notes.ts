import type { History, RouteFact } from "./history.ts";
import type { NodeSql } from "./node-sql.ts";

/** Notes which routes each group has after each transaction that changed any, by reading their rows directly. */
export class RouteNotes {
  private readonly history: History;
  private stale = false;
  private last = "";

  constructor(history: History) {
    this.history = history;
  }

  wrote(query: string): void {
    if (query.includes("queue_routes")) this.stale = true;
  }

  /** `seq`: an instant of the transaction before anything that it granted; null: it granted nothing. */
  committed(sql: NodeSql, seq: number | null): void {
    if (!this.stale) return;
    this.stale = false;
    const { history } = this;
    const groups = new Map<string, RouteFact[]>();
    for (const row of sql.all(
      "SELECT topic, group_name, route_id, route, filter FROM queue_routes WHERE ended = 0 AND route_id > 0 ORDER BY route_id",
    )) {
      const name = groupName(String(row.topic), String(row.group_name));
      const fact = {
        routeId: Number(row.route_id),
        route: String(row.route),
        filter: JSON.parse(String(row.filter)),
      };
      groups.set(name, [...(groups.get(name) ?? []), fact]);
    }
    this.note(groups, seq ?? history.seq(), false);
  }

  /** The object went with its rows. */
  lost(): void {
    this.stale = false;
    this.note(new Map(), this.history.seq(), true);
  }

  private note(groups: Map<string, RouteFact[]>, seq: number, isLoss: boolean): void {
    const text = JSON.stringify([...groups]);
    if (text === this.last) return;
    this.last = text;
    const { history } = this;
    history.routeTables.push({ seq, clockMs: history.clockMs(), groups, isLoss });
  }
}

export function groupName(topic: string, group: string): string {
  return `${topic}/${group}`;
}
