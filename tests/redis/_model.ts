/** What the model-based tests of both layouts share. */

import * as fc from "fast-check";
import type { Delivery } from "@bq/core";
import type { Lab } from "./lab.ts";

/** Seconds that a reservation lasts in a history. */
export const RETRY_AFTER = 10;

/** How a delivery is settled in a history. */
export type How = "ack" | "retry" | "return" | "deadLetter";

/** One thing that happens. Whom it happens to is chosen among what there is when it does. */
export type Step =
  | { readonly do: "push"; readonly kind: "canonical" | "short" | "poison" | "again" }
  | { readonly do: "delay"; readonly delayMs: number }
  | { readonly do: "clock"; readonly worker: number; readonly by: number }
  | {
    readonly do: "work";
    readonly worker: number;
    readonly max: number;
    readonly settles: readonly Choice[];
  }
  | { readonly do: "extend"; readonly worker: number; readonly which: number }
  | { readonly do: "twice"; readonly worker: number }
  | { readonly do: "crash"; readonly worker: number }
  | { readonly do: "stock"; readonly verb: "pop" | "ack" | "release"; readonly which: number };

/** Which of a worker's deliveries is settled, and how. */
export interface Choice {
  readonly which: number;
  readonly how: How;
  readonly delayMs: number;
}

/** One history, from an empty queue. */
export interface History {
  readonly steps: readonly Step[];
  readonly migrationBatchSize: number;
  /** How far the second worker's clock is ahead, in seconds. */
  readonly skew: number;
}

const worker = fc.nat({ max: 1 });
const which = fc.nat({ max: 9 });
const choice = fc.record({
  which,
  how: fc.constantFrom<How>("ack", "ack", "retry", "return", "deadLetter"),
  delayMs: fc.constantFrom(0, 0, 400, 3_000),
});

/** Histories; `stock` lets a third worker do what Laravel's own scripts do, and leaves poison out. */
export function histories(stock: boolean, delays: boolean): fc.Arbitrary<History> {
  const kinds = stock
    ? fc.constantFrom("canonical", "short", "again")
    : fc.constantFrom("canonical", "canonical", "short", "poison", "again");
  const push = fc.record({ do: fc.constant("push"), kind: kinds });
  const step = fc.oneof(
    { weight: 4, arbitrary: push },
    ...(delays
      ? [{
        weight: 2,
        arbitrary: fc.record({ do: fc.constant("delay"), delayMs: fc.nat({ max: 4_000 }) }),
      }]
      : []),
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("clock"),
        worker,
        by: fc.constantFrom(0.4, 1, 3, RETRY_AFTER, 60, -1, -30),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("work"),
        worker,
        max: fc.constantFrom(0, 1, 1, 2, 5),
        settles: fc.array(choice, { maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("extend"), worker, which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("twice"), worker }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("crash"), worker }) },
    ...(stock
      ? [{
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant("stock"),
          verb: fc.constantFrom("pop", "pop", "ack", "release"),
          which,
        }),
      }]
      : []),
  ) as fc.Arbitrary<Step>;
  return fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 40, size: "max" }),
    migrationBatchSize: fc.constantFrom(-1, -1, -1, 1, 2),
    skew: fc.constantFrom(0, 0, -60, 60),
  });
}

/** A delivery in a worker's hands. */
export interface Held {
  readonly delivery: Delivery;
  /** The member that stands for it. */
  readonly member: string;
}

/** A worker of a history. */
export interface Hand {
  readonly lab: Lab;
  held: Held[];
  /** The last one that was settled. */
  last: Delivery | undefined;
}

/** Bodies of a history: what was pushed, and what new ones look like. */
export class Bodies {
  readonly pushed: string[] = [];

  /** The next body of a kind. */
  next(kind: "canonical" | "short" | "poison" | "again"): string {
    const number = this.pushed.length;
    const body = kind === "again" && number > 0
      ? this.pushed[number >> 1]!
      : kind === "poison"
      ? `not json ${number}`
      : kind === "short"
      // Its end is not canonical, so that cjson counts it.
      ? `{"attempts":0,"job":"urn:a:b:m${number}"}`
      : `{"job":"urn:a:b:m${number}","data":{"n":${number}},"attempts":0}`;
    this.pushed.push(body);
    return body;
  }
}

/** Whether the script of the zset layout cannot count a body. */
export function isPoison(body: string): boolean {
  return body.startsWith("not json");
}

/** What a body is about, whatever its count. */
export function identityOf(body: string): string {
  return isPoison(body) ? body : JSON.parse(body).job;
}

/** Deliveries counted in a body. */
export function attemptsOf(body: string): number {
  return JSON.parse(body).attempts;
}
