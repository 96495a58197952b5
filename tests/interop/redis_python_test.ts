/** Our worker and the published Python SDK's on one Redis, in both layouts. */

import { absentRedis } from "../brokers/mod.ts";
import { absentPython, startPython } from "./python.ts";
import { interopTests } from "./suite.ts";

const ignore = await absentRedis() || await absentPython();

interopTests(ignore, ["zset", "legacy"], (layout) => ({
  name: "Python",
  firstAttempt: 0,
  deadLetters: true,
  ungatedRelease: layout === "zset",
}), startPython);
