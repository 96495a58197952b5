/** The splice of a reserved member: the script raises the count, the client takes it back. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { BabelQueue, readEnvelope } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { redis, type RedisTransport, zsetKeys } from "@bq/redis";
import { lowered, SplicedReservation } from "../../transports/redis/_lossless.ts";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { freshQueue, Lab, text, utf8 } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const ending = (attempts: number, pad = ""): string =>
  `{"job":"urn:a:b:c"${pad},"attempts":${attempts}}`;

const attempts = fc.oneof(
  fc.nat({ max: 1_000 }),
  fc.integer({ min: 0, max: 14 }).map((power) => 10 ** power),
  fc.integer({ min: 1, max: 14 }).map((power) => 10 ** power - 1),
  fc.integer({ min: 0, max: 999_999_999_999_998 }),
);

test("a member lowered by one, then raised by one, is the member again", () => {
  fc.assert(fc.property(attempts, (count) => {
    const member = ending(count + 1);
    const body = lowered(bytes(member));
    assert.equal(text(body), ending(count));
    const reservation = new SplicedReservation(
      { queue: "q", body, headers: {}, counting: {} },
      Infinity,
    );
    assert.equal(reservation.memberLength, member.length);
    assert.equal(text(reservation.member()), member);
    assert.equal(text(body), ending(count), "the body stays as it is");
  }));
});

for (const [size, pad] of [["small", ""], ["large", `,"data":"${"é".repeat(3_000)}"`]] as const) {
  test(`the script raises every count that the client can take back, ${size}`, async () => {
    const lab = await Lab.open(broker().port, { layout: "zset" });
    try {
      const counts = [0, 1, 8, 9, 10, 98, 99, 100, 109, 999, 123456789, 999999999999998];
      const jobs = counts.map((count) => utf8(ending(count, pad)));
      await lab.put({ ready: jobs });
      const taken = await lab.reserve(64);
      assert.deepEqual(taken.map(({ body }) => text(body)), jobs);
      const { reserved } = await lab.look();
      assert.deepEqual(
        reserved.map(({ member }) => member).sort(),
        counts.map((count) => utf8(ending(count + 1, pad))).sort(),
      );
      for (const delivery of taken) {
        assert.equal(await (await lab.subscription()).settle(delivery, { kind: "ack" }), "settled");
      }
    } finally {
      await lab.close();
    }
  }, { ignore });
}

test("only a canonical end is spliced; every other body takes the path of cjson", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    const others = [
      '{"n":0,"a":"/","attempts": 1}',
      '{"n":1,"a":"/","attempts":1 }',
      '{"n":2,"a":"/","attempts":1}\n',
      '{"n":3,"attempts":1,"a":"/"}',
      '{"n":4,"a":"/","attempts":-1}',
      '{"n":5,"a":"/","attempts":-0}',
      '{"n":6,"a":"/","attempts":1.0}',
      '{"n":7,"a":"/","attempts":1000000000000000}',
      '{"n":8,"a":"/", "attempts":1}',
      '{"attempts":1}',
      '{"a":"\\",\\"attempts\\":1}","attempts":1}',
    ];
    await lab.put({ ready: others });
    const taken = await lab.reserve(64);
    assert.deepEqual(taken.map(({ body }) => text(body)), others);
    const members = (await lab.look()).reserved.map(({ member }) => member);
    assert.ok(members.includes('{"a":"\\",\\"attempts\\":1}","attempts":2}'));
    // cjson escapes every slash.
    assert.equal(members.filter((member) => member.includes("\\/")).length, 9, members.join("\n"));
    assert.ok(members.includes('{"attempts":2}'));
  } finally {
    await lab.close();
  }
}, { ignore });

test("leading zeros are no count", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    await lab.put({ ready: ['{"a":1,"attempts":007}'] });
    const delivery = await lab.reserveOne();
    assert.equal(text(delivery.body), '{"a":1,"attempts":007}');
    assert.equal(readEnvelope(delivery.body).verdict().verdict, "poison");
  } finally {
    await lab.close();
  }
}, { ignore });

/** JSON texts that lean towards what cjson is particular about. */
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom("1e400", "-1e400", "1E+309", "1e308", "1.8e308", "1e-400", "0e999", "123e306"),
  fc.integer({ min: 1, max: 400 }).map((length) => "9".repeat(length)),
);
const string = fc.oneof(
  fc.string().map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00\\ud800"',
    '"\\\\ud800"',
    '"a\\ud83dx"',
    '"4e400"',
    '"12345678-1234-4e12-8e99-12e400abcdef"',
    '":1e400,"',
  ),
);
const member = fc.oneof(number, string, fc.constantFrom("[]", "{}", "null", "true"));
const META = '"meta":{"id":"i","queue":"q","lang":"go","schema_version":1,"created_at":0}';
/** Such members anywhere, or in the data of a canonical envelope. */
const body = fc.tuple(fc.array(member, { maxLength: 6 }), fc.boolean()).map(([values, inData]) => {
  const members = values.map((value, at) => `"m${at}":${value}`);
  return inData
    ? `{"job":"urn:a:b:c","trace_id":"t","data":{${members.join()}},${META},"attempts":0}`
    : `{${['"job":"urn:a:b:c"', ...members].join()},"attempts":0}`;
});

test("the worker refuses exactly what cjson refuses", async () => {
  const server = await RespClient.connect(broker().port);
  const script =
    "local ok, text = pcall(function() return cjson.encode(cjson.decode(ARGV[1])) end) " +
    "return ok and 1 or 0";
  try {
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const accepted = await server.call("EVAL", script, 0, bytes(value)) === 1;
        const { verdict } = readEnvelope(bytes(value), { wide: true }).verdict();
        assert.equal(verdict === "poison", !accepted, value);
      }),
      { numRuns: 1_000 },
    );
  } finally {
    await server.close();
  }
}, { ignore });

test("what cjson refuses is poison on either path", async () => {
  for (const reserve of ["splice", "cjson"] as const) {
    const { transport, queue, close } = openQueue(reserve);
    const seen = recorder();
    const bq = new BabelQueue(transport, { queue, onEvent: seen });
    bq.handle("urn:a:b:c", () => {});
    const bodies = [
      '{"job":"urn:a:b:c","x":1e400,"attempts":0}',
      '{"job":"urn:a:b:c","meta":{"x":-1E400},"attempts":0}',
      '{"job":"urn:a:b:c","x":"\\ud800","attempts":0}',
      `{"job":"urn:a:b:c","x":${"9".repeat(310)},"attempts":0}`,
      `{"job":"urn:a:b:c","trace_id":"t","data":{"x":"\\udc00"},${META},"attempts":0}`,
    ];
    for (const one of bodies) await bq.publishRaw(queue, bytes(one));
    await bq.publishRaw(queue, bytes('{"job":"urn:a:b:c","attempts":0}'));
    const { handled, deadLettered } = await bq.consume({ maxMessages: bodies.length + 1 });
    assert.deepEqual([handled, deadLettered], [1, bodies.length]);
    assert.equal(seen.of("poison").length, bodies.length);
    await bq.close();
    await close();
  }
}, { ignore });

/** A queue on the server of the file, and what removes it. */
function openQueue(reserve: "splice" | "cjson"): {
  readonly transport: RedisTransport;
  readonly queue: string;
  close(): Promise<void>;
} {
  const queue = freshQueue();
  const transport = redis({ url: broker().url, layout: "zset", reserve });
  return {
    transport,
    queue,
    async close() {
      const server = await RespClient.connect(broker().port);
      const dead = zsetKeys(`${queue}.dlq`);
      await server.call("DEL", ...Object.values(zsetKeys(queue)), ...Object.values(dead));
      await server.close();
    },
  };
}
