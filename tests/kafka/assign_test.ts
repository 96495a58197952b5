/** What members of a group agree on: who gets what, in which bytes, and where a key goes. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { type Assign, ASSIGNORS, range, roundRobin } from "../../transports/kafka/_assign.ts";
import {
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from "../../transports/kafka/_group_format.ts";
import { murmur2, Partitioner } from "../../transports/kafka/_partitioner.ts";
import { test } from "../harness.ts";

const member = (memberId: string, ...topics: string[]) => ({ memberId, topics });
const plain = (assign: ReturnType<Assign>): object =>
  Object.fromEntries([...assign].map(([id, share]) => [id, { ...share }]));

test("range cuts each topic into one piece for every member that wants it", () => {
  const counts = new Map([["a", 3], ["b", 2]]);
  const members = [member("m2", "a", "b"), member("m1", "a")];
  assert.deepEqual(plain(range(members, counts)), { m1: { a: [0, 1] }, m2: { a: [2], b: [0, 1] } });
});

test("roundrobin deals all partitions out in turn", () => {
  const counts = new Map([["a", 3], ["b", 3]]);
  const members = [member("m2", "a", "b"), member("m1", "a", "b")];
  assert.deepEqual(plain(roundRobin(members, counts)), {
    m1: { a: [0, 2], b: [1] },
    m2: { a: [1], b: [0, 2] },
  });
});

test("every partition that somebody wants goes to exactly one member that wants its topic", () => {
  const topics = ["a", "b", "c", "gone"];
  const members = fc.uniqueArray(
    fc.record({ memberId: fc.uuid(), topics: fc.uniqueArray(fc.constantFrom(...topics)) }),
    { minLength: 1, maxLength: 6, selector: ({ memberId }) => memberId },
  );
  const sizes = fc.tuple(fc.nat(7), fc.nat(7), fc.nat(7));
  fc.assert(fc.property(members, sizes, (group, [a, b, c]) => {
    const counts = new Map([["a", a], ["b", b], ["c", c]]);
    for (const assign of ASSIGNORS.values()) {
      const given: string[] = [];
      for (const [memberId, share] of assign(group, counts)) {
        const { topics: own } = group.find((one) => one.memberId === memberId)!;
        for (const [topic, partitions] of Object.entries(share)) {
          assert.ok(own.includes(topic));
          given.push(...partitions.map((partition) => `${topic} ${partition}`));
        }
      }
      const wanted = [...counts].filter(([topic]) =>
        group.some((one) => one.topics.includes(topic))
      )
        .flatMap(([topic, count]) => Array.from({ length: count }, (_, n) => `${topic} ${n}`));
      assert.deepEqual(given.sort(), wanted.sort());
    }
  }));
});

test("members say what they want in the bytes that every client reads", () => {
  const bytes = encodeSubscription(["ab", "ü"]);
  assert.equal(
    Buffer.from(bytes).toString("hex"),
    "00000000000200026162" + "0002c3bc" + "00000000",
  );
  assert.deepEqual(decodeSubscription(bytes), ["ab", "ü"]);
  // Later versions of the format go on behind it: partitions that are owned, a generation, a rack.
  const later = Buffer.concat([Buffer.from([0, 3]), bytes.subarray(2), Buffer.alloc(9)]);
  assert.deepEqual(decodeSubscription(later), ["ab", "ü"]);
});

test("the leader tells shares in the bytes that every client reads", () => {
  const hex = Buffer.from(encodeAssignment({ ab: [0, 258] })).toString("hex");
  assert.equal(
    hex,
    "0000" + "00000001" + "00026162" + "00000002" + "00000000" + "00000102" + "00000000",
  );
});

test("a key goes where the Java clients put it", () => {
  // The values that Kafka's own tests have.
  const known: [string, number][] = [
    ["21", -973932308],
    ["foobar", -790332482],
    ["a-little-bit-long-string", -985981536],
    ["a-little-bit-longer-string", -1486304829],
    ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ];
  for (const [key, hash] of known) assert.equal(murmur2(new TextEncoder().encode(key)), hash, key);
});

test("a record without a key goes to each partition in turn, an empty key always to the same", () => {
  const partitioner = new Partitioner();
  const turns = Array.from({ length: 4 }, () => partitioner.pick("t", null, 3));
  assert.deepEqual(turns, [0, 1, 2, 0]);
  const empty = new Set(
    Array.from({ length: 4 }, () => partitioner.pick("t", new Uint8Array(), 3)),
  );
  assert.equal(empty.size, 1);
});
