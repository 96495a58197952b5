import { simulate } from "./_history.ts";

/** Plays a seed; when it breaks a rule, throws the whole trace and the one command that plays it again. */
export async function expectGreen(seed: number): Promise<void> {
  const { violations } = await simulate(seed);
  if (violations.length > 0) throw new Error(await report(seed));
}

/** The trace of a seed, what it breaks, and how to play it again. */
export async function report(seed: number): Promise<string> {
  const { trace, violations } = await simulate(seed, true);
  return [...trace, "", ...violations, `again: deno task sim --seed ${seed} --trace`].join("\n");
}
