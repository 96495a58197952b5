/** Messages of Artemis as bytes: what is written and found here is what the client writes and finds. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Delivery } from "@bq/core/transport";
import fc from "fast-check";
import rhea from "rhea";
import { type Codec, Received } from "../../transports/artemis/_decode.ts";
import { sectionOf } from "../../transports/artemis/_body.ts";
import { encoded, type PlainMessage } from "../../transports/artemis/_encode.ts";
import { skim } from "../../transports/artemis/_skim.ts";
import type { AmqpMessage } from "../../transports/artemis/_amqp.ts";
import { toDelivery, toMessage } from "../../transports/artemis/project.ts";
import { B0 } from "../contract/_vectors.ts";
import { test } from "../harness.ts";

const codec = rhea as unknown as Codec;
const encode = rhea.message.encode as unknown as (message: object) => Buffer;
const { types } = rhea as unknown as { types: Record<string, (value: unknown) => unknown> };
const utf8 = new TextEncoder();

/** A message as plain values, the dates and buffers too. */
function plainOf(message: AmqpMessage): object {
  return JSON.parse(JSON.stringify(message)) as object;
}

const anyText = fc.oneof(
  { weight: 30, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ minLength: 120, maxLength: 300 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 9 }) },
);
const texts = fc.dictionary(fc.string({ minLength: 1, maxLength: 9 }), anyText, { maxKeys: 5 });

const plainMessage: fc.Arbitrary<PlainMessage> = fc.record({
  durable: fc.constant(true as const),
  subject: anyText,
  correlation_id: anyText,
  creation_time: fc.oneof(
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.constantFrom(0, 1, -1, 2 ** 32 - 1, 2 ** 32, 1_760_000_000_123),
  ),
  message_annotations: texts,
  application_properties: texts,
}, {
  requiredKeys: ["durable", "subject", "message_annotations", "application_properties"],
});

test("what is encoded here reads as what the client encodes", () => {
  let written = 0;
  fc.assert(
    fc.property(plainMessage, anyText, (message, body) => {
      const bytes = encoded(message, utf8.encode(body));
      if (bytes === undefined) return;
      written++;
      const theirs = codec.message.decode(encode({ ...message, body }));
      assert.deepEqual(plainOf(codec.message.decode(bytes)), plainOf(theirs));
    }),
    { numRuns: 1_000 },
  );
  assert.ok(written > 100, `${written} were encoded`);
});

test("what the short form has no room for is left to the client", () => {
  const message = (own: object): PlainMessage => ({
    durable: true,
    subject: "urn:babel:a:b",
    message_annotations: {},
    application_properties: {},
    ...own,
  });
  const body = utf8.encode("{}");
  for (
    const own of [
      { subject: "ü" },
      { correlation_id: "x".repeat(256) },
      { subject: "x".repeat(150), correlation_id: "x".repeat(100) },
      { application_properties: { a: "x".repeat(252) } },
      { creation_time: -1 },
    ]
  ) assert.equal(encoded(message(own), body), undefined, JSON.stringify(own));
  assert.ok(encoded(message({ correlation_id: "x".repeat(200) }), body) !== undefined);
});

test("a publish is the same message, whichever of both encodes it", () => {
  const long = B0.replace('"id":7', `"id":"${"x".repeat(70_000)}"`);
  const foreign: Delivery = {
    queue: "elsewhere",
    body: utf8.encode(B0),
    headers: { tenant: "7", "bq-replay-bypass": "1" },
    schemaVersion: undefined,
    counting: {},
  };
  for (const outgoing of [{}, { headers: { traceparent: "00-1" } }, { from: foreign }]) {
    for (const body of [B0, long]) {
      const ours = toMessage({ body: utf8.encode(body), ...outgoing }, 0);
      assert.ok(ours instanceof Uint8Array);
      const read = codec.message.decode(ours);
      assert.equal(read.body, body);
      // One that is delayed goes the client's way.
      const theirs = toMessage({ body: utf8.encode(body), ...outgoing, delayMs: 1 }, 0);
      assert.ok(!(theirs instanceof Uint8Array));
      const { bq_delay, ...properties } = theirs.application_properties!;
      const { "x-opt-delivery-time": time, ...annotations } = theirs.message_annotations!;
      assert.deepEqual([bq_delay, time], ["1", 1]);
      const same = {
        ...theirs,
        application_properties: properties,
        message_annotations: annotations,
      };
      assert.deepEqual(plainOf(read), plainOf(codec.message.decode(encode(same))));
    }
  }
});

/** Values of every type that a peer can put into a map. */
const value = fc.oneof(
  anyText,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noInteger: true }),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(anyText, fc.boolean(), { maxKeys: 2 }),
  fc.date({ noInvalidDate: true, min: new Date(0) }),
  fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  anyText.map((symbol) => types["wrap_symbol"]!(symbol)),
);
const values = fc.dictionary(fc.constantFrom("a", "bq_attempts", "bq_schema_version", "ü"), value);

const anyMessage = fc.record({
  durable: fc.boolean(),
  priority: fc.integer({ min: 0, max: 9 }),
  ttl: fc.nat(),
  first_acquirer: fc.boolean(),
  delivery_count: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.nat()),
  message_id: fc.oneof(anyText, fc.nat(), fc.constant(Buffer.alloc(16, 7))),
  correlation_id: anyText,
  content_type: fc.constant("application/json"),
  group_sequence: fc.nat(),
  delivery_annotations: values,
  message_annotations: values,
  application_properties: fc.oneof(texts, values),
  footer: fc.option(fc.constant({ a: "b" }), { freq: 1, nil: undefined }),
  body: fc.oneof(
    { weight: 9, arbitrary: anyText },
    fc.constant(null),
    value,
    fc.uint8Array({ maxLength: 300 }).map((bytes) => rhea.message.data_section(Buffer.from(bytes))),
    fc.constant(rhea.message.data_sections([Buffer.from("a"), Buffer.from("b")] as never)),
    fc.constant(rhea.message.sequence_section([1, "b"])),
  ),
}, { requiredKeys: [] });

/** What the client finds, as a delivery; its way is taken for a message that is handed over decoded. */
function theirs(bytes: Buffer): object {
  let message: AmqpMessage;
  try {
    message = codec.message.decode(bytes);
  } catch {
    message = { body: bytes, undecodable: true };
  }
  const { undecodable, ...delivery } = toDelivery("shop", new Received({ message }, codec));
  return { ...delivery, undecodable: undecodable || message.undecodable === true };
}

function ours(bytes: Buffer): object {
  const { undecodable, ...delivery } = toDelivery(
    "shop",
    new Received({ message: bytes as never, format: 1 }, codec),
  );
  return { ...delivery, undecodable: undecodable === true };
}

function quietly(work: () => void): void {
  const { warn } = console;
  // The client warns of sections that it does not know.
  console.warn = () => {};
  try {
    work();
  } finally {
    console.warn = warn;
  }
}

test("what is skimmed of a message is what the client decodes", () => {
  let skimmed = 0;
  fc.assert(
    fc.property(anyMessage, (message) => {
      const bytes = encode(message);
      if (skim(bytes) !== undefined) skimmed++;
      assert.deepEqual(ours(bytes), theirs(bytes));
    }),
    { numRuns: 2_000 },
  );
  assert.ok(skimmed > 200, `${skimmed} were skimmed`);
});

test("a message that is cut short, or has a wrong byte, is still what the client makes of it", () =>
  quietly(() => {
    const plain: PlainMessage = {
      durable: true,
      subject: "urn:babel:a:b",
      correlation_id: "t",
      creation_time: 1_760_000_000_123,
      message_annotations: { "x-opt-jms-type": "urn:babel:a:b" },
      application_properties: { bq_schema_version: "1", bq_attempts: "0" },
    };
    const samples = [
      encoded(plain, utf8.encode("{}"))!,
      encode({
        delivery_count: 3,
        message_id: "m",
        message_annotations: { a: [1, { b: 2 }] },
        application_properties: { bq_attempts: "1", tenant: "ü" },
        body: "{}",
      }),
    ];
    for (const sample of samples) {
      for (let length = 0; length < sample.length; length++) {
        const bytes = sample.subarray(0, length);
        assert.deepEqual(ours(bytes), theirs(bytes), `cut at ${length}`);
      }
      for (let at = 0; at < sample.length; at++) {
        for (const byte of [0x00, 0x40, 0x74, 0xa1, 0xc1, 0xff]) {
          const bytes = Buffer.from(sample);
          bytes[at] = byte;
          const found = skim(bytes);
          // Text that is no UTF-8 is the one difference: here its bytes stay.
          if (found !== undefined && typeof sectionOf(found.body) !== "string") continue;
          assert.deepEqual(ours(bytes), theirs(bytes), `${byte} at ${at}`);
        }
      }
    }
  }));

test("a text that is no UTF-8 keeps its bytes", () => {
  const bytes = Buffer.from(toMessage({ body: utf8.encode(B0) }, 0) as Uint8Array);
  bytes[bytes.length - 3] = 0xff;
  const { body } = toDelivery("shop", new Received({ message: bytes as never, format: 1 }, codec));
  assert.deepEqual(Buffer.from(body), bytes.subarray(bytes.length - utf8.encode(B0).length));
});

/** A message whose body is one value. */
function valued(...bytes: readonly number[]): Buffer {
  return Buffer.from([0x00, 0x53, 0x77, ...bytes]);
}

const MANY = [0x03, 0x93, 0x87, 0x00] as const;

test("a count that no message can hold is not believed: its bytes are the body", () => {
  const rows: Readonly<Record<string, Buffer>> = {
    "an array of nothing": valued(0xf0, 0, 0, 0, 5, ...MANY, 0x40),
    "an array of empty lists": valued(0xf0, 0, 0, 0, 5, ...MANY, 0x45),
    "a list": valued(0xd0, 0, 0, 0, 5, ...MANY, 0x40),
    "a map in a list": valued(0xc0, 12, 1, 0xd1, 0, 0, 0, 5, ...MANY, 0x40),
    "more values than are believed": Buffer.concat([
      valued(0xf0, 0, 2, 0, 5, 0, 2, 0, 0, 0x50),
      Buffer.alloc(0x20000),
    ]),
    "values in each other": valued(...Array.from({ length: 200 }, () => [0xc0, 9, 1]).flat(), 0x40),
  };
  for (const [what, bytes] of Object.entries(rows)) {
    const { undecodable, body } = toDelivery(
      "shop",
      new Received({ message: bytes as never, format: 1 }, codec),
    );
    assert.equal(undecodable, true, what);
    assert.deepEqual(Buffer.from(body), bytes, what);
  }
});
