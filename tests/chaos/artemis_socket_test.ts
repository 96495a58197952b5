/** Connections that are cut, at the worst moment, and brokers that cannot be reached. */

import { BabelQueue } from "@bq/core";
import { artemis } from "@bq/artemis";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { artemisStage } from "./_artemis_scene.ts";
import { URN } from "./_plan.ts";
import { cutOverAndOver, socketTests, uncertainPublishTest } from "./_socket_suite.ts";
import { proxyTest } from "./_stage.ts";

const ignore = await absentArtemis({ own: true });
const stage = artemisStage(ignore, brokerOfFile(ignore, () => startArtemis({ own: true })));

uncertainPublishTest(stage, (text) => text.includes(`"job":"${URN}"`));

proxyTest(
  stage,
  "a worker whose connection was cut, over and over, loses nothing",
  (scene, proxy) => cutOverAndOver(scene, 100, () => proxy.cut()),
);

socketTests(stage, {
  cut: "an idle worker whose connection was cut",
  stalled: "its connection was stalled",
  broker: "broker",
});

proxyTest(
  stage,
  "a broker that falls silent counts as gone, and the worker connects anew",
  async (scene, proxy) => {
    const app = scene.app();
    const gone = Promise.withResolvers<void>();
    const worker = new BabelQueue(artemis({ url: scene.url, idleTimeoutMs: 1_000 }), {
      queue: scene.queue,
      onEvent: ({ type }) => type === "disconnected" && gone.resolve(),
    });
    const came: number[] = [];
    worker.handle(URN, ({ n }) => {
      came.push(Number(n));
    });
    const run = worker.run();
    await app.publish(URN, { n: 1 });
    await eventually(() => came.length === 1);
    proxy.stall();
    await gone.promise;
    proxy.resume();
    await eventually(() => app.publish(URN, { n: 2 }, { timeoutMs: 5_000 }));
    await eventually(() => came.includes(2));
    await worker.close();
    await run;
  },
);
