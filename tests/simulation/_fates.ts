import { type Fate, LATE_MS } from "./_line.ts";
import type { World } from "./_world.ts";

/** How a settle goes, beside what its write does. */
export function fateOfSettle({ faults, chance }: World): Fate {
  const error = new Error("the settle failed");
  const deaf = chance.hits(0.3);
  if (faults.strikes("settle fails before")) return { deaf, before: error };
  if (faults.strikes("settle fails after")) return { deaf, after: error };
  if (faults.strikes("settle hangs before")) return { deaf, hangs: "before" };
  if (faults.strikes("settle hangs after")) return { deaf, hangs: "after" };
  return faults.strikes("settle late") ? { deaf, lateMs: chance.pick(LATE_MS) } : { deaf };
}

/** How the extension of a lease goes. */
export function fateOfExtend({ faults, chance }: World): Fate {
  return {
    deaf: chance.hits(0.3),
    ...(faults.strikes("extend rejects") ? { before: new Error("the extension failed") } : {}),
    ...(faults.strikes("extend hangs") ? { hangs: chance.pick(["before", "after"] as const) } : {}),
    ...(faults.strikes("extend late") ? { lateMs: chance.pick(LATE_MS) } : {}),
  };
}
