import process from "node:process";
import { setImmediate } from "node:timers";

/** Runs something, lets the event loop turn once, and tells which rejections nobody has handled. */
export async function unhandledIn(run: () => Promise<void>): Promise<readonly unknown[]> {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => {
    reasons.push(reason);
  };
  process.on("unhandledRejection", note);
  try {
    await run();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", note);
  }
  return reasons;
}
