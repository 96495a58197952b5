/** The heaviest of the crashes, for every server and runtime. */

import assert from "node:assert/strict";
import type { Runtime } from "../harness.ts";
import type { BrokerScene } from "./_broker_scene.ts";

const MESSAGES = 4_000;
const KILLS = 5;
const CONCURRENCY = 16;
/** In flight at a kill: handlers, and settles on their way (as many again, and the prefetch). */
const IN_FLIGHT = 3 * CONCURRENCY;

/**
 * Kills worker after worker while each is busy with short handlers, and lets a last one finish: every
 * message is handled, and only what was in flight at a kill is handled again.
 */
export async function killUnderLoad(scene: BrokerScene, runtime?: Runtime): Promise<void> {
  await scene.publish(0, MESSAGES);
  for (let kills = 0; kills < KILLS; kills++) {
    const worker = await scene.worker({ concurrency: CONCURRENCY }, runtime);
    await worker.killAfter(37 * (kills + 1));
  }
  assert.ok(scene.doneCount < MESSAGES, "nothing was under way any more");
  const last = await scene.worker({ concurrency: CONCURRENCY }, runtime);
  await scene.drained();
  assert.equal((await last.stop()).code, 0);
  const { lost, duplicates, dead } = await scene.outcome();
  assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
  const allowed = KILLS * IN_FLIGHT;
  assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
}
