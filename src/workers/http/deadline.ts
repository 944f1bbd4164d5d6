/** Runs `task` once after `delayMs`; the returned function cancels it. */
export type After = (delayMs: number, task: () => void) => () => void;

export const platformAfter: After = (delayMs, task) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

export class DeadlinePassed extends Error {
  override name = "DeadlinePassed";
}

/** The work's own outcome, or `DeadlinePassed`: then the work goes on, and its outcome is nobody's. */
export async function beforeDeadline<T>(work: Promise<T>, deadlineMs: number, after: After): Promise<T> {
  let cancel = () => {};
  const deadline = new Promise<never>((_, reject) => {
    cancel = after(deadlineMs, () => reject(new DeadlinePassed()));
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    cancel();
  }
}

/** Whether the work ended within the time; rejects as the work does. */
export async function endsWithin(work: Promise<unknown>, waitMs: number, after: After): Promise<boolean> {
  try {
    await beforeDeadline(work, waitMs, after);
    return true;
  } catch (error) {
    if (error instanceof DeadlinePassed) return false;
    throw error;
  }
}

export function pause(delayMs: number, after: After): Promise<void> {
  return new Promise((resolve) => {
    after(delayMs, resolve);
  });
}
