/** What a worker does with each body of the section `kafka_poison`: all of them on one queue, once a suite. */

import { onBench } from "../../../kafka/bench.ts";
import { headersOf } from "../../../kafka/lab.ts";
import type { Suite } from "../suite.ts";

const CASE = "case";
const fates: WeakMap<Suite, Promise<ReadonlyMap<string, string>>> = new WeakMap();

/**
 * Lets a worker take every body.
 *
 * @param suite The suite, for which it is done once.
 * @param port The broker.
 * @param bodies Names and bodies.
 * @returns Name to `handled` or `<reason> record`.
 */
export function fatesOf(
  suite: Suite,
  port: number,
  bodies: readonly (readonly [string, Uint8Array])[],
): Promise<ReadonlyMap<string, string>> {
  let known = fates.get(suite);
  if (known === undefined) fates.set(suite, known = workOn(port, bodies));
  return known;
}

async function workOn(
  port: number,
  bodies: readonly (readonly [string, Uint8Array])[],
): Promise<ReadonlyMap<string, string>> {
  const seenFates = new Map<string, string>();
  await onBench({ port }, {}, async (bench) => {
    const queue = await bench.queue();
    await bench.lab.write(
      queue,
      bodies.map(([name, value]) => ({ value, key: name, headers: { [CASE]: name } })),
    );
    // Nobody handles anything, so that a good body leaves a record of its own kind.
    const { bq } = bench.app(queue, { deadLetter: true, maxAttempts: 1 });
    await bq.consume({ maxMessages: bodies.length, waitMs: 20_000 });
    await bq.close();
    for (const record of await bench.lab.read(`${queue}.dlq`)) {
      const { reason } = JSON.parse(new TextDecoder().decode(record.value!)).dead_letter;
      const name = new Map(headersOf(record)).get(CASE) ?? "";
      seenFates.set(name, reason === "unknown_urn" ? "handled" : `${reason} record`);
    }
  });
  return seenFates;
}
