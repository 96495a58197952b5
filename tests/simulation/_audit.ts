import type { ConsumeResult, QueueHealth } from "../../runtime/mod.ts";
import type { Handed } from "./_handed.ts";
import type { Process, Run } from "./_process.ts";

/** After this time without an answer the worker may count on none, in milliseconds. */
const PATIENCE_MS = 30_000;

/** How much later than it is due a timer may fire at most, with all that can be in its way, in milliseconds. */
const TIMER_MS = 20_000;

/** A run that ended must not have had anything in hand that it could still settle. */
export function ended(process: Process, run: Run): void {
  const { world, transport, name } = process;
  const { time, log } = world;
  const mine = transport.subscriptions.filter((subscription) =>
    subscription.bornAtMs >= run.sinceMs && subscription.endedAtMs === Infinity
  );
  for (const subscription of mine) subscription.endedAtMs = time.nowMs;
  const handed = mine.flatMap((subscription) => subscription.handed);
  const asked = handed.filter(({ surplus }) => !surplus).length;
  if (asked > run.maxMessages) {
    log.broken("consume keeps its maximum", `${name}: ${asked} of ${run.maxMessages}`);
  }
  const late = run.call.bounds.some((bound) => bound.reached);
  const underWay = mine.some(({ receives }) => [...receives].some(({ givenUp }) => !givenUp));
  if (underWay && !late) log.broken("no end with a receive under way", name);
  for (const one of handed) {
    // Before its time is over the worker gives back what handlers have not finished.
    if (one.held(time.nowMs) && one.handedInStep < time.steps) {
      log.broken("no end with a message in hand", `${name}: ${one}`);
    }
    if (late) continue;
    const open = one.settles.some(({ answer, atMs }) =>
      answer === "none" && time.nowMs < atMs + PATIENCE_MS
    );
    if (open) log.broken("no end with a settle under way", `${name}: ${one}`);
  }
}

/** What has to hold of a worker whenever nothing more happens without time. */
export function atRest(process: Process): void {
  for (const health of process.app.health().queues) {
    if (health.state === "working") asksForMessages(process, health);
    if (health.state === "stopping") holdsNothing(process, health);
    knowsWhatItHas(process, health);
  }
}

/** Where slots are free and nothing is in the way, the worker has asked for messages. */
function asksForMessages(process: Process, health: QueueHealth): void {
  const { name, options, transport, world, clock } = process;
  const { queue, inFlight, settling } = health;
  const { concurrency = 1, prefetch = concurrency } = options;
  const free = Math.min(concurrency, concurrency + prefetch - settling) - inFlight;
  // It may wait for the event loop to turn first.
  if (free <= 0 || clock.yielding) return;
  const asked = transport.subscriptions.some((subscription) =>
    subscription.queue === queue && subscription.endedAtMs === Infinity &&
    [...subscription.receives].some((receive) => receive.ageMs < PATIENCE_MS + TIMER_MS)
  );
  if (!asked) world.log.broken("free slots are asked for", `${name}: ${free} on ${queue}`);
}

/** The end of intake cuts every hold short. */
function holdsNothing({ name, world }: Process, { queue, held }: QueueHealth): void {
  if (held > 0) world.log.broken("no hold after the end of intake", `${name}: ${held} on ${queue}`);
}

/** Nothing that was handed out is forgotten before its end. */
function knowsWhatItHas(process: Process, { queue, inFlight, held }: QueueHealth): void {
  const { name, runs, transport, world: { log, time } } = process;
  // When the time for stopping is over, the worker lets go of everything.
  if ([...runs].some(({ call }) => call.bounds.some(({ reached }) => reached))) return;
  const has = transport.subscriptions
    .filter((subscription) => subscription.queue === queue && subscription.endedAtMs === Infinity)
    .flatMap((subscription) => subscription.handed)
    .filter((one) => one.held(time.nowMs) && one.handedInStep < time.steps).length;
  const known = inFlight + held;
  if (has > known) log.broken("nothing in hand is forgotten", `${name}: ${has}, knows of ${known}`);
}

/** What `consume` counts is what the events told. */
export function countsTold({ name, events, world }: Process, counts: ConsumeResult): void {
  for (const [type, count] of Object.entries(counts)) {
    const told = events.get(type) ?? 0;
    if (told === count) continue;
    world.log.broken("consume counts what was told", `${name}: ${type} ${count}, told ${told}`);
  }
}

/** After `close()` nothing of the App may be left. */
export function closedClean(process: Process): void {
  const { name, clock, calls, signals, world, app } = process;
  const { log } = world;
  if (clock.sleeping > 0) log.broken("no timer after close", `${name}: ${clock.sleeping}`);
  for (const { label } of calls.open) log.broken("no promise after close", `${name}: ${label}`);
  const listeners = signals.reduce((sum, signal) => sum + signal.listeners, 0);
  if (listeners > 0) log.broken("no listener after close", `${name}: ${listeners}`);
  process.publisher.afterClose(world.plan.queues[0]!);
  const { state, queues } = app.health();
  if (state !== "closed" || queues.length > 0) {
    log.broken("health tells the end", `${name}: ${state}, ${queues.length} queues`);
  }
}

/** At the end of the history nothing may be left of an App that was closed, whatever happened since. */
export function stillClean({ name, clock, calls, world }: Process): void {
  if (clock.sleeping > 0) world.log.broken("no timer after close", `${name}: ${clock.sleeping}`);
  for (const { label } of calls.open) {
    world.log.broken("no promise after close", `${name}: ${label}`);
  }
}

/** Events that say how a delivery ended. */
const ENDS: readonly string[] = [
  "dropped",
  "retried",
  "released",
  "returned",
  "left",
  "deadLettered",
  "expired",
  "settleFailed",
  "leaseLost",
];

/** Every end of a delivery is told once; only what shutdown left unfinished may be told as a number. */
export function everyEndTold(process: Process): void {
  const { events, unfinished, transport, name, world } = process;
  const told = ENDS.reduce((sum, type) => sum + (events.get(type) ?? 0), 0);
  const ends = transport.subscriptions.flatMap((subscription) => subscription.handed.map(endsOf));
  const least = ends.reduce((sum, { least }) => sum + least, 0);
  const most = ends.reduce((sum, { most }) => sum + most, 0);
  const detail = `${name}: ${told} told, ${unfinished} unfinished, of ${least} to ${most}`;
  if (told > most) world.log.broken("an end is told once", detail);
  if (told + unfinished < least) world.log.broken("every end is told", detail);
}

function endsOf(handed: Handed): { least: number; most: number } {
  // What comes after the end of the run is given back without a word.
  if (handed.late) return { least: 0, most: 1 };
  const last = handed.settles.at(-1);
  if (last?.unclear) return { least: 0, most: 1 };
  const silent = last?.handled && last.answer === "settled";
  // `handled` was told when the handler returned; a late answer to the settle may be told too.
  if (silent) return { least: 0, most: last.answeredAtMs >= last.atMs + PATIENCE_MS ? 1 : 0 };
  return { least: 1, most: 1 };
}
