/**
 * What the transport's own client costs and says beside a command: tracers hear of each, and while
 * there is none nobody pays for them.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { tracingChannel } from "node:diagnostics_channel";
import { Redis } from "ioredis";
import type { RedisArgument, RedisClient } from "@bq/redis";
import { ownClient } from "../../transports/redis/clients/own.ts";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";

const COMMANDS = "ioredis:command";
const TEXT = "the text of a body";

/** A body that notices when a text is made of it. */
class Watched {
  texts = 0;
  readonly bytes: Buffer = Object.assign(Buffer.from("a body"), {
    toString: (): string => {
      this.texts++;
      return TEXT;
    },
  });
}

/** A command whose arguments ioredis shows to tracers in full. */
const evaluate = (body: Uint8Array): RedisArgument[] => ["EVAL", "return 7", "1", "k", body];

/** What tracers are told of a command. */
interface Told {
  readonly args: readonly string[];
  readonly result?: unknown;
}

/** Listens to the steps that are named, as a tracer does, and gives what ends that. */
function listen(heard: string[], ...steps: ("start" | "asyncEnd" | "error")[]): () => void {
  const tracer = Object.fromEntries(steps.map((step) => [step, (message: unknown): void => {
    const { args, result = "" } = message as Told;
    if (args.at(-1) === TEXT) heard.push(`${step} ${result}`.trim());
  }]));
  const told = tracingChannel(COMMANDS);
  told.subscribe(tracer as never);
  return () => void told.unsubscribe(tracer as never);
}

for (const cluster of [false, true]) {
  const kind = cluster ? "a cluster" : "one server";
  const ignore = await absentRedis({ cluster });
  const broker = brokerOfFile(ignore, () => startRedis({ cluster }));

  // The cluster client of ioredis lets its timers run out after it has disconnected.
  const sanitize = !cluster;

  const live = (
    name: string,
    work: (client: RedisClient, body: Watched) => Promise<void>,
    connection: { readonly enableOfflineQueue?: boolean } = {},
  ): void => {
    test(`${name}, ${kind}`, async () => {
      const { url } = broker();
      const where = { url, cluster: cluster ? [url] : undefined, connection };
      const client = await ownClient(where, () => false);
      try {
        if (connection.enableOfflineQueue !== true) {
          await client.connect?.();
          // What waits for a node of a cluster to connect is written by that node's own client.
          await client.call(evaluate(Buffer.from("the first")), "k");
        }
        await work(client, new Watched());
      } finally {
        await client.close?.();
      }
    }, { ignore, sanitize });
  };

  live("no argument becomes a text while no tracer listens", async (client, body) => {
    assert.equal(await client.call(evaluate(body.bytes), "k"), 7);
    await assert.rejects(client.call(["EVAL", "no script", "1", "k", body.bytes], "k"));
    assert.equal(body.texts, 0);
  });

  live("a tracer that comes later hears of every command, until it goes", async (client, body) => {
    const heard: string[] = [];
    await client.call(evaluate(body.bytes), "k");
    const end = listen(heard, "start", "asyncEnd");
    try {
      assert.equal(await client.call(evaluate(body.bytes), "k"), 7);
      assert.deepEqual(heard, ["start", "asyncEnd 7"]);
    } finally {
      end();
    }
    const { texts } = body;
    assert.ok(texts > 0, "the body notices when a text is made of it");
    await client.call(evaluate(body.bytes), "k");
    assert.deepEqual([heard.length, body.texts], [2, texts]);
  });

  live("one that wants nothing but errors hears of them", async (client, body) => {
    const heard: string[] = [];
    const end = listen(heard, "error");
    try {
      await client.call(evaluate(body.bytes), "k");
      await assert.rejects(client.call(["EVAL", "no script", "1", "k", body.bytes], "k"));
      assert.deepEqual(heard, ["error"]);
    } finally {
      end();
    }
  });

  // A cluster never lets a command wait.
  if (cluster) continue;
  live("one that comes while a command waits hears of it, once", async (client, body) => {
    const heard: string[] = [];
    const answer = client.call(evaluate(body.bytes), "k");
    const end = listen(heard, "start");
    try {
      assert.equal(await answer, 7);
      assert.deepEqual(heard, ["start"]);
    } finally {
      end();
    }
  }, { enableOfflineQueue: true });
}

test("nobody else's client is touched", async () => {
  const mine = new Redis({ lazyConnect: true });
  const { sendCommand } = mine;
  await ownClient({ url: "redis://127.0.0.1:1", cluster: undefined, connection: {} }, () => false);
  for (const one of [mine, new Redis({ lazyConnect: true })]) {
    assert.equal(one.sendCommand, sendCommand);
    one.disconnect();
  }
});
