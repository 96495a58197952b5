/** The splice of a reserved member: the script raises the count, the client takes it back. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { readEnvelope } from "@bq/core";
import { lowered, refusedByCjson, SplicedReservation } from "../../transports/redis/_lossless.ts";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { Lab, text, utf8 } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const ending = (attempts: number): string => `{"job":"urn:a:b:c","attempts":${attempts}}`;

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
    const room = new Uint8Array(member.length + 2).fill(0x2e);
    reservation.writeMember(room, 1);
    assert.equal(text(room), `.${member}.`);
  }));
});

test("the script raises every count that the client can take back", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    const counts = [0, 1, 8, 9, 10, 98, 99, 100, 109, 999, 123456789, 999999999999998];
    await lab.put({ ready: counts.map(ending) });
    const taken = await lab.reserve(64);
    assert.deepEqual(taken.map(({ body }) => text(body)), counts.map(ending));
    const { reserved } = await lab.look();
    assert.deepEqual(
      reserved.map(({ member }) => member).sort(),
      counts.map((count) => ending(count + 1)).sort(),
    );
    for (const delivery of taken) {
      assert.equal(await (await lab.subscription()).settle(delivery, { kind: "ack" }), "settled");
    }
  } finally {
    await lab.close();
  }
}, { ignore });

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
const body = fc.array(member, { maxLength: 6 }).map((values) =>
  `{"job":"urn:a:b:c"${values.map((value, at) => `,"m${at}":${value}`).join("")},"attempts":0}`
);

test("the client refuses exactly what cjson refuses", async () => {
  const server = await RespClient.connect(broker().port);
  const script =
    "local ok, text = pcall(function() return cjson.encode(cjson.decode(ARGV[1])) end) " +
    "return ok and 1 or 0";
  try {
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        JSON.parse(value);
        const accepted = await server.call("EVAL", script, 0, bytes(value)) === 1;
        assert.equal(refusedByCjson(bytes(value)), !accepted, value);
      }),
      { numRuns: 1_000 },
    );
  } finally {
    await server.close();
  }
}, { ignore });

test("what cjson refuses is poison on either path", async () => {
  for (const reserve of ["splice", "cjson"] as const) {
    const lab = await Lab.open(broker().port, { layout: "zset", reserve });
    try {
      const bodies = [
        '{"job":"urn:a:b:c","x":1e400,"attempts":0}',
        '{"job":"urn:a:b:c","meta":{"x":-1E400},"attempts":0}',
        '{"job":"urn:a:b:c","x":"\\ud800","attempts":0}',
        `{"job":"urn:a:b:c","x":${"9".repeat(310)},"attempts":0}`,
      ];
      await lab.put({ ready: bodies.map(utf8) });
      const taken = await lab.reserve(10);
      assert.deepEqual(taken.map(({ undecodable }) => undecodable), [true, true, true, true]);
      assert.deepEqual(taken.map((delivery) => text(delivery.body)), bodies.map(utf8));
    } finally {
      await lab.close();
    }
  }
}, { ignore });
