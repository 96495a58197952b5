/** The key in which a large job's count is raised: it is never there, and never in anybody's way. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { Lab, type LabOptions, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis({ persistent: true }));
const LARGE = "x".repeat(20_000);
const job = (attempts: number): string =>
  `{"job":"urn:a:b:c","data":"${LARGE}","attempts":${attempts}}`;

/** Reserves a large job, whose member has to be the spliced one. */
async function reserved(
  prepare: (lab: Lab, scratch: string) => Promise<unknown>,
  check: (lab: Lab, scratch: string) => Promise<unknown>,
  options: Partial<LabOptions> = {},
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout: "zset", ...options });
  const scratch = `${lab.keys["reserved"]}:scratch`;
  try {
    await lab.put({ ready: [job(9)] });
    await prepare(lab, scratch);
    const delivery = await lab.reserveOne();
    assert.equal(text(delivery.body), job(9));
    assert.deepEqual((await lab.look()).reserved.map(({ member }) => member), [job(10)]);
    await check(lab, scratch);
  } finally {
    await lab.server.call("DEL", scratch);
    await lab.close();
  }
}

async function appended(server: RespClient): Promise<string> {
  const setting = async (name: string): Promise<string> =>
    text((await server.call("CONFIG", "GET", name) as Uint8Array[])[1]!);
  const folder = `${await setting("dir")}/${await setting("appenddirname")}`;
  return readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, "latin1")).join("");
}

test(
  "the key is gone when the script ends, and the append-only file has not heard of it",
  () =>
    reserved(
      () => Promise.resolve(),
      async (lab, scratch) => {
        assert.equal(await lab.server.call("EXISTS", scratch), 0);
        const file = await appended(lab.server);
        assert.ok(file.includes(job(10)) && file.includes("ZADD"));
        assert.ok(!file.includes(scratch), "the key is in the file");
      },
    ),
  { ignore },
);

test("whatever has that name stays as it is", () =>
  reserved(
    (lab, scratch) => lab.server.call("RPUSH", scratch, "somebody's"),
    async (lab, scratch) => assert.deepEqual(await lab.list(scratch), ["somebody's"]),
  ), { ignore });

for (const denied of [["set"], ["setrange"], ["getdel"], ["setrange", "getdel"]]) {
  test(`a user who may not ${denied.join(", ")} reserves large jobs all the same`, async () => {
    const server = await RespClient.connect(broker().port);
    try {
      // Every connection of the test is of that user.
      await server.call("ACL", "SETUSER", "default", ...denied.map((command) => `-${command}`));
      await reserved(
        () => Promise.resolve(),
        async (lab, scratch) => {
          await eventually(async () => assert.equal(await lab.server.call("EXISTS", scratch), 0));
          await lab.server.call("ACL", "SETUSER", "default", "+@all");
        },
      );
    } finally {
      await server.call("ACL", "SETUSER", "default", "+@all");
      await server.close();
    }
  }, { ignore });
}
