/**
 * What another program left on a queue and no handler can have, wherever it lies: one record each with
 * its exact bytes, and the message behind it is handled. Contract: R34–R39, R50–R52, R78.
 */

import assert from "node:assert/strict";
import { BabelQueue } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { redis, type RedisOptions } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { type KeyState, Lab, latin, utf8 } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());

/** A member of a program that shares nothing but the name of the queue: a count, and no job. */
const STRANGER = '{"id":"2XB7","attempts":81441}';

const counted = (attempts: string): string => `{"id":"2XB7","attempts":${attempts}}`;

/** What else has no job, as Latin-1 text; none of it twice, since a sorted set keeps equal bytes once. */
const KIN: readonly string[] = [
  // Where the splice carries, where it ends, and where doubles and integers do.
  ...["0", "8", "9", "99999999999999", "999999999999999", "1000000000000000", "9007199254740993"],
  ...["123456789012345678901234567890", "1e15", "1.5", "1.0", "-1", "-0", '"81441"', "1e400"],
  ...["null", "{}", "[81441]"],
].map(counted).concat([
  '{"attempts":81441,"id":"2XB7"}',
  ' {"id":"2XB7","attempts":81441}\n',
  '{"id":"2XB7"}',
  '{"job":null,"attempts":81441}',
  '{"job":" ","urn":"","attempts":81441}',
  '{"n":-1e400,"attempts":1}',
  '{"dead_letter":{},"attempts":81441}',
  "{}",
  "[]",
  "81441",
  "null",
  '"2XB7"',
  "",
  "\xff\x00\xfe",
  '{"id":"\xff","attempts":81441}',
  utf8('\ufeff{"id":"2XB7","attempts":81441}'),
]);

const TOKEN = "0123456789abcdef0123456789abcdef:";
/** Due long ago, in their order. */
const inSet = (members: readonly string[]): { member: string; score: number }[] =>
  members.map((member, at) => ({ member, score: at + 1 }));

/** A place where a member may lie, and the keys that put these there. */
interface Place {
  readonly layout: "legacy" | "zset";
  readonly holding: (members: readonly string[]) => KeyState;
  /** What cannot come from there. */
  readonly except?: string;
}

const PLACES: Readonly<Record<string, Place>> = {
  "zset, ready": { layout: "zset", holding: (ready) => ({ ready }) },
  "zset, due in :delayed": {
    layout: "zset",
    holding: (members) => ({ delayed: inSet(members) }),
  },
  "zset, expired in :reserved": {
    layout: "zset",
    holding: (members) => ({ reserved: inSet(members) }),
  },
  "legacy, ready": { layout: "legacy", holding: (ready) => ({ ready }) },
  "legacy, expired in :processing": {
    layout: "legacy",
    holding: (processing) => ({
      processing,
      deadlines: inSet(processing.map((member) => TOKEN + member)),
    }),
    // With no byte behind its token it is malformed to the sweep of every SDK. Contract: R68.
    except: "",
  },
};

/** The body that a record holds, as Latin-1 text. Contract: C112–C119. */
function heldBy(record: string): string {
  const { raw, raw_encoding } = JSON.parse(new TextDecoder().decode(latin(record)));
  if (raw_encoding === "base64") return atob(raw);
  if (raw !== undefined) return utf8(raw);
  const object = record.slice(0, record.lastIndexOf('"dead_letter":{"reason":"poison"'));
  return `${object.replace(/,$/, "")}}`;
}

/** White space around an object is no part of its record. Contract: C116. */
const kept = (body: string): string => body.replace(/^\s+(?=\{)|(?<=\})\s+$/g, "");

async function recordsEach(
  { layout, holding }: Place,
  members: readonly string[],
  options: RedisOptions,
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout, ...options });
  const seen = recorder();
  const bq = new BabelQueue(
    redis({ url: broker().url, layout, ...options }),
    { queue: lab.queue, onEvent: seen },
  );
  try {
    let handled = 0;
    bq.handle(U, () => void handled++);
    await lab.put(holding([...members, B0]));
    await bq.consume({ waitMs: 0 });

    assert.equal(handled, 1, "the good message behind them is handled once");
    const records = await lab.records();
    assert.deepEqual(records.map(heldBy).sort(), members.map(kept).sort());
    for (const record of records) {
      const { dead_letter } = JSON.parse(new TextDecoder().decode(latin(record)));
      // Nothing beside the body counts, and a count in a refused body is not believed.
      assert.deepEqual([dead_letter.original_queue, dead_letter.attempts], [lab.queue, 0]);
    }
    assert.equal(seen.of("poison").length, members.length);
    const { notify: _, ...left } = await lab.look();
    assert.deepEqual(Object.values(left).flat(), [], "nothing waits, and nothing is in flight");
  } finally {
    await bq.close();
    await lab.close();
  }
}

for (const [name, place] of Object.entries(PLACES)) {
  const ways: readonly RedisOptions[] = place.layout === "legacy"
    ? [{}]
    : [{ reserve: "splice" }, { reserve: "cjson" }];
  for (const options of ways) {
    const where = [name, ...Object.values(options)].join(", ");
    test(`a member without a job becomes one record and stops nothing: ${where}`, async () => {
      await recordsEach(place, [STRANGER], options);
    }, { ignore });

    test(`so does each of its kind, all of them at once: ${where}`, async () => {
      await recordsEach(place, KIN.filter((member) => member !== place.except), options);
    }, { ignore });
  }
}
