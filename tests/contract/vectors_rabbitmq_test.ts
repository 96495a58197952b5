/** Worked cases of the contract on RabbitMQ: V301 to V309, on a real broker. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { bodyOf, headersOf, inLab, type Lab, propertiesOf } from "../rabbitmq/lab.ts";
import { B0, b0, B2, ID, META, TP, TR, U } from "./_vectors.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());

function vector(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker(), work), { ignore });
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

vector(
  "V301 a publish goes to the default exchange, with every slot and typed headers",
  async (lab) => {
    const { transport } = await lab.open();
    await transport.publish(lab.queue, [{ body: bytes(B0) }]);
    const message = await lab.admin.take(lab.queue);
    assert.equal(bodyOf(message), B0);
    assert.deepEqual([message.fields.exchange, message.fields.routingKey], ["", lab.queue]);
    assert.deepEqual(propertiesOf(message), {
      type: U,
      correlationId: TR,
      messageId: ID,
      appId: "babelqueue",
      contentType: "application/json",
      contentEncoding: "utf-8",
      deliveryMode: 2,
    });
    assert.deepEqual(headersOf(message), {
      "x-attempts": 0,
      "x-schema-version": 1,
      "x-source-lang": "go",
    });
  },
);

vector(
  "V302 a rider travels as text, and one named like a header of the contract does not",
  async (lab) => {
    const { transport } = await lab.open();
    const headers = { traceparent: TP, "x-attempts": "99" };
    await transport.publish(lab.queue, [{ body: bytes(B0), headers }]);
    assert.deepEqual(headersOf(await lab.admin.take(lab.queue)), {
      traceparent: TP,
      "x-attempts": 0,
      "x-schema-version": 1,
      "x-source-lang": "go",
    });
  },
);

vector(
  "V303 a queue is declared durable, not exclusive, not deleted by itself, without arguments",
  async (lab) => {
    const { transport } = await lab.open();
    await transport.publish(lab.queue, [{ body: bytes(B0) }]);
    const same = { durable: true, exclusive: false, autoDelete: false, arguments: {} };
    assert.equal(await lab.admin.matches(lab.queue, same), true);
    assert.equal(await lab.admin.matches(lab.queue, { ...same, durable: false }), false);
    assert.equal(await lab.admin.matches(lab.queue, { ...same, autoDelete: true }), false);
    assert.equal(
      await lab.admin.matches(lab.queue, { ...same, arguments: { "x-max-length": 5 } }),
      false,
    );
  },
);

vector(
  "V305 the last failure is a record on the dead-letter queue, and the message is gone",
  async (lab) => {
    const { bq, seen } = lab.app({ deadLetter: true, maxAttempts: 3 });
    bq.handle(U, () => {
      throw new Error("boom");
    });
    await bq.publishRaw(lab.queue, bytes(B2));
    await bq.consume();
    assert.equal(seen.of("deadLettered").length, 1);
    const record = await lab.admin.take(`${lab.queue}.dlq`);
    const { attempts, dead_letter } = JSON.parse(bodyOf(record));
    assert.deepEqual([attempts, dead_letter.attempts, dead_letter.reason], [3, 3, "failed"]);
    assert.equal(headersOf(record)["x-attempts"], 3);
    assert.equal(propertiesOf(record)["type"], U);
    await bq.close();
    assert.equal(await lab.admin.count(lab.queue), 0);
  },
);

/** A readable envelope, but for its version. */
const VERSION_2 = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });

for (
  const [what, poison, earlier, wanted] of [
    ["not JSON", "not json", undefined, [1, 2]],
    ["another version, which says 0 attempts itself", VERSION_2, undefined, [1, 2]],
    ["another version, tried before", VERSION_2, 1, [2]],
    ["what the Python SDK leaves of such a message", '{"attempts":1}', 1, [2]],
    ["the same without the count beside it", '{"attempts":1}', undefined, [1, 2]],
  ] as const satisfies readonly (readonly [string, string, number | undefined, number[]])[]
) {
  vector(
    `V306 poison without a dead-letter queue comes again byte for byte, counted, then is dropped: ${what}`,
    async (lab) => {
      await lab.admin.declare(lab.queue);
      await lab.admin.put(lab.queue, poison, {
        messageId: "m-7",
        priority: 3,
        ...(earlier === undefined ? {} : { headers: { "x-attempts": earlier } }),
      });
      const counts: unknown[] = [];
      for (;;) {
        const { bq, seen } = lab.app({ maxAttempts: 3 });
        bq.handle(U, () => assert.fail("poison never meets a handler"));
        await bq.consume({ maxMessages: 1 });
        await bq.close();
        assert.equal(seen.of("poison").length, 1);
        if (seen.of("dropped").length > 0) break;
        const copy = await lab.admin.take(lab.queue);
        assert.equal(bodyOf(copy), poison);
        assert.deepEqual([copy.properties.messageId, copy.properties.priority], ["m-7", 3]);
        counts.push(headersOf(copy)["x-attempts"]);
        assert.ok(counts.length < 3, `never over: ${counts}`);
        await lab.admin.put(lab.queue, copy.content, copy.properties);
      }
      assert.deepEqual(counts, wanted);
      assert.equal(await lab.admin.count(lab.queue), 0);
      assert.equal(await lab.admin.count(`${lab.queue}.dlq`), null);
    },
  );
}

vector("V307 a body of another schema version is poison: there is no gate", async (lab) => {
  const { bq, seen } = lab.app({ deadLetter: true });
  let handled = 0;
  bq.handle(U, () => void handled++);
  await bq.publishRaw(lab.queue, bytes(VERSION_2));
  await bq.consume();
  assert.equal(handled, 0);
  assert.equal(seen.of("gated").length, 0);
  const record = JSON.parse(bodyOf(await lab.admin.take(`${lab.queue}.dlq`)));
  assert.equal(record.dead_letter.reason, "poison");
});

vector("V309 the count in the body decides, not the one in the header", async (lab) => {
  const { bq } = lab.app();
  const attempts: number[] = [];
  bq.handle(U, (_, ctx) => void attempts.push(ctx.attempt));
  await lab.admin.declare(lab.queue);
  await lab.admin.put(lab.queue, b0({ attempts: '"attempts":1' }), {
    headers: { "x-attempts": 4 },
  });
  await bq.consume();
  assert.deepEqual(attempts, [2]);
});
