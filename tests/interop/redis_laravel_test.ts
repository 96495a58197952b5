/** Our worker and Laravel's own on one Redis. */

import { absentRedis } from "../brokers/mod.ts";
import { absentLaravel, startLaravel } from "./laravel.ts";
import { interopTests } from "./suite.ts";

const ignore = await absentRedis() || await absentLaravel();

interopTests(ignore, ["zset"], () => ({
  name: "Laravel",
  firstAttempt: 1,
  deadLetters: false,
  ungatedRelease: true,
}), startLaravel);
