import { type ChildProcess, fork } from "node:child_process";

const ANSWER_DEADLINE_MS = 30_000;

/** What a program answers to an order that it could not do. */
export interface Failed {
  failed: string;
}

/**
 * A program in a process of its own, so that its work does not delay the clock of who measures. It takes one order
 * after the other and answers each of them; whoever starts it must `end` it.
 */
export class ChildProgram<Order extends object | string, Answer extends object> {
  private readonly name: string;
  private readonly child: ChildProcess;

  /** `name` is for people; `entry` is the program's absolute path. */
  constructor(name: string, entry: string) {
    this.name = name;
    this.child = fork(entry);
  }

  /** Rejects when the program failed, ended, or did not answer. One at a time. */
  ask<Wanted extends Answer>(order: Order): Promise<Exclude<Wanted, Failed>> {
    return new Promise((resolve, reject) => {
      const onExit = () => done(() => reject(new Error(`${this.name}: its process ended`)));
      const onMessage = (answer: Exclude<Wanted, Failed> | Failed) =>
        done(() => {
          if ("failed" in answer) reject(new Error(`${this.name}: ${answer.failed}`));
          else resolve(answer);
        });
      const timer = setTimeout(
        () => done(() => reject(new Error(`${this.name} does not answer`))),
        ANSWER_DEADLINE_MS,
      );
      const done = (act: () => void) => {
        clearTimeout(timer);
        this.child.off("message", onMessage);
        this.child.off("exit", onExit);
        act();
      };
      this.child.once("message", onMessage);
      this.child.once("exit", onExit);
      this.child.send(order, (error) => {
        if (error) done(() => reject(new Error(`${this.name}: its process ended`)));
      });
    });
  }

  end(): void {
    this.child.kill("SIGKILL");
  }
}

/** The other side: answers each order with what `obey` returns, and ends with whoever gives them. */
export function obeyOrders<Order, Answer extends object>(obey: (order: Order) => Promise<Answer>): void {
  process.on("message", (order: Order) => {
    obey(order).then(
      (answer) => process.send?.(answer),
      (error: unknown) => process.send?.({ failed: error instanceof Error ? error.message : String(error) }),
    );
  });
  process.on("disconnect", () => process.exit(0));
}
