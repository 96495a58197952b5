/**
 * What the client and the server can do at best, with no worker around them: the least there is
 * between a message and its handler. A worker cannot be faster than these.
 */

import { Redis } from "ioredis";
import { ZSET_PUSH, ZSET_WORK } from "../transports/redis/_lua_zset.ts";
import { RespClient } from "../tests/brokers/mod.ts";
import { argumentsOf, bodyOf, fill, KEYS, NAMES } from "./_redis_limits.ts";
import { dataOf, pickUp } from "./_load.ts";

const DATA = JSON.stringify(dataOf(0));
const ALL = argumentsOf({ mode: "splice", batch: 1, pad: 0 });
const COUNT = String(NAMES.length);
const HEAD = ALL.slice(NAMES.length, -1);

/** The scripts and a client of the kind that the worker makes. */
async function connected(port: number): Promise<Redis> {
  const client = new Redis(port, "127.0.0.1");
  for (const { source } of [ZSET_WORK, ZSET_PUSH]) await client.call("SCRIPT", "LOAD", source);
  return client;
}

/** One call: acknowledges the member before and reserves the next one. */
async function turn(
  client: Redis,
  member: Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  const settled = member === undefined ? [""] : ["a", member as never];
  const args = [ZSET_WORK.sha, COUNT, ...NAMES, ...HEAD, ...settled];
  return (await client.callBuffer("EVALSHA", ...args) as Uint8Array[])[3];
}

/** One message at a time, settled and reserved in one call, parsed; messages a second. */
export async function bareLoop(port: number, count: number): Promise<number> {
  const filling = await RespClient.connect(port);
  await fill(filling, count, 0);
  await filling.close();
  const client = await connected(port);
  const decoder = new TextDecoder();
  const start = performance.now();
  for (let member = await turn(client, undefined); member !== undefined;) {
    JSON.parse(decoder.decode(member));
    member = await turn(client, member);
  }
  const took = performance.now() - start;
  client.disconnect();
  return count / took * 1_000;
}

/** From a push until the message is parsed, with a reader that blocks; the median, in milliseconds. */
export async function barePickUp(port: number, times: number): Promise<number> {
  const [client, blocking] = [await connected(port), new Redis(port, "127.0.0.1")];
  await client.del(...NAMES);
  let entered: () => void = () => {};
  let over = false;
  const reading = (async () => {
    let member: Uint8Array | undefined;
    while (!over) {
      member = await turn(client, member);
      if (member === undefined) await blocking.blpop(KEYS.notify, 1);
      else {
        JSON.parse(new TextDecoder().decode(member));
        entered();
      }
    }
  })();
  const median = await pickUp(times, (handled) => {
    entered = handled;
    return client.call("EVALSHA", ZSET_PUSH.sha, "2", KEYS.ready, KEYS.notify, bodyOf(DATA, 0));
  });
  over = true;
  await reading;
  client.disconnect();
  blocking.disconnect();
  return median;
}

/** Ready bytes, pushed a hundred at a time by the same script; messages a second. */
export async function barePush(port: number, count: number): Promise<number> {
  const client = await connected(port);
  const bodies = Array.from({ length: 100 }, (_, at) => Buffer.from(bodyOf(DATA, at)));
  const start = performance.now();
  for (let at = 0; at < count; at += 100) {
    await client.call("EVALSHA", ZSET_PUSH.sha, "2", KEYS.ready, KEYS.notify, ...bodies);
  }
  const took = performance.now() - start;
  await client.del(...NAMES);
  client.disconnect();
  return count / took * 1_000;
}

/**
 * Jobs a second that the server's own time for reserving and acknowledging allows, 64 a call: what a
 * worker that costs nothing would reach.
 */
export async function serverLimit(port: number, count: number): Promise<number> {
  const client = await RespClient.connect(port);
  try {
    await fill(client, count, 0);
    const sha = await client.text("SCRIPT", "LOAD", ZSET_WORK.source);
    await client.call("CONFIG", "RESETSTAT");
    const [, ...rest] = HEAD;
    for (let members: Uint8Array[] = [];;) {
      const settled = ["a".repeat(members.length), ...members];
      const reply = await client.call("EVALSHA", sha, COUNT, ...NAMES, "64", ...rest, ...settled);
      members = (reply as Uint8Array[]).slice(3);
      if (members.length === 0) break;
    }
    const stats = await client.text("INFO", "commandstats");
    return count / Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats)?.[1]) * 1e6;
  } finally {
    await client.call("DEL", ...NAMES);
    await client.close();
  }
}
