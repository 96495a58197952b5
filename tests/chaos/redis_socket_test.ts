/** Connections that are cut, at the worst moment, and servers that cannot be reached. */

import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { LAYOUTS, redisStage, type Scene } from "./_scene.ts";
import {
  cutOverAndOver,
  frozenCloseTest,
  latin1,
  socketTests,
  uncertainPublishTest,
} from "./_socket_suite.ts";
import { proxyTest } from "./_stage.ts";

const ignore = await absentRedis({ own: true });
const redis = brokerOfFile(ignore, () => startRedis({ own: true }));

/** Whether a request calls a script that names this queue. */
function calls(text: string, { queue }: Scene): boolean {
  return /EVAL|RPUSH|ZADD/i.test(text) && text.includes(queue);
}

for (const layout of LAYOUTS) {
  const stage = redisStage(ignore, layout, redis);

  uncertainPublishTest(stage, calls);

  proxyTest(
    stage,
    "calls of a worker whose answers were cut off lose nothing",
    (scene, proxy) => {
      const request = (bytes: Uint8Array): boolean => calls(latin1(bytes), scene);
      return cutOverAndOver(scene, 10, () => proxy.cutAnswer({ request }));
    },
  );

  socketTests(stage, {
    cut: "a worker whose waiting connection was cut",
    stalled: "its connections were stalled",
    broker: "server",
  });

  frozenCloseTest(stage, "server");
}
