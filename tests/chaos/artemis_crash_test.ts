/** Workers that are killed and brokers that go away: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { artemisStage } from "./_artemis_scene.ts";
import { blowsTo, brokerCrashTests } from "./_broker_crash_suite.ts";
import { workerCrashTests } from "./_worker_crash_suite.ts";

const ignore = await absentArtemis({ own: true });
const stage = artemisStage(ignore, brokerOfFile(ignore, () => startArtemis({ own: true })));
const CONCURRENCY = 8;

workerCrashTests(stage);

brokerCrashTests(stage, {
  blows: blowsTo(stage, { frozen: "frozen for a while" }),
  concurrency: CONCURRENCY,
  inFlight: 3 * CONCURRENCY,
  check: async (scene) => assert.equal(await scene.unsettled(), 0),
});
