/**
 * Lives through many Apps and messages and prints, as JSON, what is left after a warm-up and at the
 * end: bytes held, open handles, and on Bun, which does not list its handles, objects that go with them.
 */

import process from "node:process";
import { BabelQueue, memory } from "@bq/core";

const PADDING = "x".repeat(8_000);
const MESSAGES = 25;

interface Footprint {
  /** The heap and what it holds outside, for instance the bytes of bodies. */
  readonly bytes: number;
  readonly handles: readonly string[];
  readonly objects: Readonly<Record<string, number>>;
}

/** What Bun keeps while something still waits. */
const WAITING = ["Timeout", "Immediate", "Promise", "AbortSignal", "AbortController"];

interface Jsc {
  heapStats(): { readonly objectTypeCounts: Readonly<Record<string, number>> };
}

for (let round = 0; round < 40; round++) await live();
const before = await footprint();
for (let round = 0; round < 200; round++) await live();
console.log(JSON.stringify({ before, after: await footprint() }));

/** One App's life: publish, handle, fail, retry, dead-letter, close. */
async function live(): Promise<void> {
  const bq = new BabelQueue(memory(), {
    queue: "orders",
    maxAttempts: 2,
    deadLetter: true,
    onEvent() {},
  });
  let turn = 0;
  bq.handle("urn:babel:orders:created", () => {
    if (turn++ % 5 === 0) throw new Error("now and then");
  });
  for (let i = 0; i < MESSAGES; i++) {
    await bq.publish("urn:babel:orders:created", { i, padding: PADDING });
  }
  await bq.consume({ waitMs: 0 });
  await bq.close();
}

async function footprint(): Promise<Footprint> {
  const { Bun, gc } = globalThis as { Bun?: { gc(sync: boolean): void }; gc?: () => void };
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (Bun) Bun.gc(true);
    else gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return {
    bytes: heapUsed + external,
    handles: process.getActiveResourcesInfo().sort(),
    objects: Bun ? await countObjects() : {},
  };
}

async function countObjects(): Promise<Record<string, number>> {
  const name = "bun:jsc";
  const { heapStats } = await import(name) as Jsc;
  const { objectTypeCounts } = heapStats();
  return Object.fromEntries(WAITING.map((type) => [type, objectTypeCounts[type] ?? 0]));
}
