import { atRest, everyEndTold, stillClean } from "./_audit.ts";
import { NATIVE_PLACE } from "./_effects.ts";
import { unhandledIn } from "./_unhandled.ts";
import { Script } from "./_script.ts";
import { makeWorld, type World } from "./_world.ts";

/** How long a healed worker may take to come back to work, in milliseconds: every patience of it once over. */
const RECOVERY_MS = 200_000;
/** How long the last worker may take, in milliseconds. */
const DRAIN_MS = 600_000;
/** Most steps of a history; one that needs more turns in a circle. */
const MOST_STEPS = 100_000;

/** How many steps pass between two looks at every worker. */
const STEPS_A_LOOK = 4;

/** Ends a history that broke a rule. */
class Stop extends Error {}

/** What came of one seed. */
export interface History {
  readonly seed: number;
  /** What went against a rule; empty when all is well. */
  readonly violations: readonly string[];
  /** The steps, when they were asked for. */
  readonly trace: readonly string[];
  readonly steps: number;
  /** The kinds of things that happened. */
  readonly seen: ReadonlySet<string>;
}

/** Plays the history of a seed. The same seed always gives the same one. */
export async function simulate(seed: number, traced = false): Promise<History> {
  const world = makeWorld(seed, traced);
  const { log, time } = world;
  if (traced) describe(world);
  const unhandled = await unhandledIn(() => play(world).catch((error) => failed(world, error)));
  for (const reason of unhandled) log.broken("every rejection is handled", text(reason));
  return { seed, violations: log.violations, trace: log.lines, steps: time.steps, seen: log.seen };
}

function failed({ log }: World, error: unknown): void {
  if (!(error instanceof Stop)) log.broken("the simulation runs", text(error));
}

function text(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

async function play(world: World): Promise<void> {
  const { plan, time, faults, broker, log } = world;
  const script = new Script(world);
  script.write();
  time.afterStep = (): void => {
    if (time.steps % STEPS_A_LOOK > 0) return;
    for (const process of script.processes) {
      if (process.alive && process.runs.size > 0) atRest(process);
    }
  };
  await until(world, () => false, plan.horizonMs);
  // Half of the histories calm down before everybody closes, so that each worker shows that it
  // comes back to work by itself; in the others everything can go wrong until the end.
  if (world.chance.hits(0.5)) await recover(world, script);
  log.step("world", "closes everybody");
  script.closeAll();
  const closed = (): boolean => script.processes.every(({ alive, closed }) => closed || !alive);
  await until(world, closed, time.nowMs + DRAIN_MS);
  if (!closed()) log.broken("everybody closes", "some never did");

  faults.heal();
  const last = script.hireLast();
  const done = (): boolean => [...broker.there].every(({ queue }) => buried(world, queue));
  await until(world, done, time.nowMs + DRAIN_MS);
  if (!done()) log.broken("the last worker gets everything", left(world));
  void last.close();
  await until(world, closed, time.nowMs + DRAIN_MS);
  await until(world, () => false, time.nowMs + 100);

  if (log.violations.length > 0) throw new Stop();
  for (const process of script.processes) {
    if (!process.alive) continue;
    everyEndTold(process);
    stillClean(process);
  }
  account(world);
}

async function recover(world: World, script: Script): Promise<void> {
  const { faults, log, time } = world;
  log.step("world", "heals");
  faults.heal();
  const waiting = (): boolean => script.working.length > 0 && stuck(world);
  await until(world, () => !waiting(), time.nowMs + RECOVERY_MS);
  if (!waiting()) return;
  log.broken("a healed worker works", script.working.map(({ name }) => name).join(", "));
}

/** Lets time pass. */
async function until(world: World, done: () => boolean, endMs: number): Promise<void> {
  const { time, log } = world;
  time.at(endMs - time.nowMs, () => {});
  await time.pause();
  while (!done() && time.nowMs < endMs) {
    if (time.steps > MOST_STEPS) log.broken("a history ends", `more than ${MOST_STEPS} steps`);
    if (log.violations.length > 0) throw new Stop();
    if (!await time.step()) return;
  }
}

/** Whether a message waits that a worker should take. */
function stuck({ broker, plan }: World): boolean {
  for (const { state, queue, message, gated } of broker.there) {
    const good = !gated && (message.kind === "good" || message.kind === "foreign");
    if (good && state === "ready" && plan.queues.includes(queue)) return true;
  }
  return false;
}

function buried({ plan }: World, queue: string): boolean {
  return queue === NATIVE_PLACE || !plan.queues.includes(queue);
}

function left(world: World): string {
  return [...world.broker.there].filter(({ queue }) => !buried(world, queue))
    .map(({ message, state, queue }) => `#${message.serial} ${state} on ${queue}`).join(", ");
}

/** Nothing is lost, and nothing came from nowhere. */
function account({ messages, log }: World): void {
  for (const { serial, kind, published, handled, records, dropped } of messages.all) {
    const what = `#${serial} (${kind}), ${published}, handled ${handled}, records ${records}, ` +
      `dropped ${dropped}`;
    if (published === "confirmed" && handled + records + dropped === 0) {
      log.broken("nothing is lost", what);
    }
    if (published === "refused" && handled + records + dropped > 0) {
      log.broken("nothing that was refused is there", what);
    }
  }
}

function describe({ plan, faults, log }: World): void {
  const { policy, broker, options, messages, horizonMs, workers, queues, handlerTimeoutMs } = plan;
  log.step("plan", `${policy.broker} ${JSON.stringify(broker)}`);
  log.step("plan", JSON.stringify(options));
  log.step(
    "plan",
    `${messages} messages on ${queues}, ${workers} workers, ${horizonMs} ms, ` +
      `patient handlers ${handlerTimeoutMs} ms`,
  );
  log.step("plan", `faults: ${faults.known.join(", ") || "none"}`);
}
