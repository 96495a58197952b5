/** What hardly anybody sends: undecodable messages, odd types, an expiry, more than a session holds. */

import assert from "node:assert/strict";
import rhea from "rhea";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { bytes, inLab, type Lab, nativeText } from "./lab.ts";
import type { NativeMessage } from "./peer.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

/** Bytes that are no UTF-8. */
const NO_TEXT = Uint8Array.of(0xff, 0x00, 0xfe);

/** Sends bytes as a message of that format. */
async function sendRaw(queue: string, message: Uint8Array, format: number): Promise<void> {
  const connection = rhea.create_container().connect({
    host: "127.0.0.1",
    port: broker().port,
    username: "anonymous",
    reconnect: false,
  } as never);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  connection.on("disconnected", () => reject(new Error("disconnected")));
  const sender = connection.open_sender({ target: { address: queue, capabilities: ["queue"] } });
  sender.once(
    "sendable",
    () => void sender.send(Buffer.from(message) as never, undefined, format),
  );
  sender.on("accepted", () => resolve());
  sender.on("rejected", () => reject(new Error("rejected")));
  await promise;
  connection.close();
}

/** Sends it, and expects the record of a poison message, which holds those bytes. */
async function recordOfRaw(
  lab: Lab,
  message: Uint8Array,
  format: number,
  held: Uint8Array = message,
): Promise<void> {
  const { bq } = lab.app({ deadLetter: true });
  let handled = 0;
  bq.handle(U, () => void handled++);
  await sendRaw(lab.queue, message, format);
  await lab.peer.send(lab.queue, { body: B0 });
  await bq.consume({ maxMessages: 2, waitMs: 10_000 });
  assert.equal(handled, 1);
  const [record = {}] = await lab.peer.receive(lab.dead);
  const { raw, raw_encoding, dead_letter } = JSON.parse(nativeText(record));
  const kept = raw_encoding === "base64" ? Buffer.from(raw, "base64") : Buffer.from(raw);
  assert.deepEqual(new Uint8Array(kept), new Uint8Array(held));
  assert.equal(dead_letter.reason, "poison");
}

live("a message that the client cannot decode is poison, and stops nothing", async (lab) => {
  await recordOfRaw(lab, Uint8Array.of(0x00, 0x53, 0x77, 0x3f), 0);
});

live("a message of another format than 0 is poison, whatever it holds", async (lab) => {
  await recordOfRaw(lab, rhea.message.encode({ body: B0 }), 7);
});

live("a text that is no UTF-8 is poison, and its record holds its bytes", async (lab) => {
  const message = rhea.message.encode({ body: B0 });
  message[message.length - 3] = 0xff;
  await recordOfRaw(lab, message, 0, message.subarray(-bytes(B0).length));
});

/** A body of one data section, and what is in it. */
function dataOf({ body }: NativeMessage): unknown {
  const { typecode, content } = body as { typecode?: number; content?: Uint8Array };
  return { typecode, content: content && [...content] };
}

live("a body that is no UTF-8 goes out as a data section", async (lab) => {
  const { bq } = lab.app();
  await bq.publishRaw(lab.queue, NO_TEXT);
  const [message = {}] = await lab.peer.receive(lab.queue);
  assert.deepEqual(dataOf(message), { typecode: 0x75, content: [...NO_TEXT] });
});

live("the record of a gated body that is no UTF-8 is a data section of the same", async (lab) => {
  const bytes = Buffer.from(NO_TEXT);
  const properties = { bq_schema_version: "2" };
  const { bq } = lab.app({ deadLetter: true });
  // As a value of bytes it comes, and as data.
  for (const body of [bytes, rhea.message.data_section(bytes)]) {
    await lab.peer.send(lab.queue, { body, application_properties: properties });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    const [record = {}] = await lab.peer.receive(lab.dead);
    assert.deepEqual(dataOf(record), { typecode: 0x75, content: [...NO_TEXT] });
    assert.deepEqual({ ...record.application_properties }, properties);
  }
});

live("a record does not expire, though its message would", async (lab) => {
  const { bq } = lab.app({ deadLetter: true, maxAttempts: 1 });
  bq.handle(U, () => {
    throw new Error("fails");
  });
  await lab.peer.send(lab.queue, { body: B0, ttl: 600_000 });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  const [record = {}] = await lab.peer.receive(lab.dead);
  assert.equal(record["ttl"], undefined);
  assert.equal(record["absolute_expiry_time"], undefined);
});

/** The type codes of the properties of a message, as it is on the wire. */
function codesOf(message: Uint8Array): Record<string, number> {
  const { Reader } = (rhea as unknown as { types: { Reader: new (bytes: Uint8Array) => never } })
    .types;
  const reader = new Reader(message) as {
    remaining(): number;
    read(): { descriptor: { value: unknown }; value: { value: unknown; type: unknown }[] };
  };
  while (reader.remaining() > 0) {
    const { descriptor, value } = reader.read();
    if (descriptor.value !== 0x74) continue;
    const codes: Record<string, number> = {};
    for (let at = 0; at < value.length; at += 2) {
      codes[String(value[at]!.value)] = (value[at + 1]!.type as { typecode: number }).typecode;
    }
    return codes;
  }
  return {};
}

live(
  "a copy has every property as the type that it came as, and those without a text",
  async (lab) => {
    const { types } = rhea;
    const typed = {
      int: types.wrap_int(42),
      long: types.wrap_long(7),
      double: types.wrap_double(2),
      float: types.wrap_float(1.5),
      byte: types.wrap_byte(5),
      binary: Buffer.from("abc"),
      large: types.wrap_ulong(Buffer.alloc(8, 255) as never),
    };
    const { bq } = lab.app({ maxAttempts: 5, retry: { baseMs: 50 } });
    bq.handle(U, () => {
      throw new Error("fails");
    });
    const sent = { body: B0, application_properties: typed };
    await lab.peer.send(lab.queue, sent);
    assert.equal((await bq.consume({ maxMessages: 1, waitMs: 10_000 })).retried, 1);
    const { message } = rhea as unknown as { message: { decode(bytes: Uint8Array): object } };
    const { decode } = message;
    const came: Uint8Array[] = [];
    message.decode = (bytes) => {
      came.push(Buffer.from(bytes));
      return decode(bytes);
    };
    try {
      await lab.peer.receive(lab.queue);
    } finally {
      message.decode = decode;
    }
    const { int, long, double, float, byte, binary, large } = codesOf(came.at(-1)!);
    // smallint, smalllong, double, float, byte, binary, ulong
    assert.deepEqual(
      { int, long, double, float, byte, binary, large },
      { int: 0x54, long: 0x55, double: 0x82, float: 0x72, byte: 0x51, binary: 0xa0, large: 0x80 },
    );
  },
);

live(
  "a header of the broker's own goes along with a publish: it detects the duplicate",
  async (lab) => {
    const transport = await lab.transport();
    const headers = { _AMQ_DUPL_ID: crypto.randomUUID() };
    for (let times = 0; times < 2; times++) {
      await transport.publish(lab.queue, [{ body: bytes(B0), headers }]);
    }
    assert.equal((await transport.size(lab.queue)).ready, 1);
  },
);

live("peek shows more than a session holds, and takes nothing", async (lab) => {
  const transport = await lab.transport();
  const some = Array.from({ length: 1_500 }, () => ({ body: bytes("x") }));
  for (let times = 0; times < 6; times++) await transport.publish(lab.queue, some);
  let shown = 0;
  for await (const _ of transport.peek(lab.queue, { max: 10_000 })) shown++;
  assert.equal(shown, 9_000);
  await eventually(async () => assert.equal((await transport.size(lab.queue)).ready, 9_000));
});
