/**
 * The section `rabbitmq`: what a plain AMQP client sees of a published envelope. It needs a server,
 * which it finds through {@linkcode Servers}. Contract: Q1, Q2, Q3.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "@bq/core";
import { rabbitmq } from "@bq/rabbitmq";
import { Admin } from "../../../rabbitmq/admin.ts";
import { isRecord, record, text } from "../json.ts";
import { AbsentServer, type CaseCheck } from "../run.ts";

/** Names of the suite, which are those of AMQP, as the client spells them. */
const PROPERTIES: Readonly<Record<string, string>> = {
  type: "type",
  correlation_id: "correlationId",
  message_id: "messageId",
  app_id: "appId",
  content_type: "contentType",
  content_encoding: "contentEncoding",
  delivery_mode: "deliveryMode",
};

/** Properties and typed headers of a published envelope, and its body. */
export const checkRabbitmqProjection: CaseCheck = async ({ value }, suite, servers) => {
  const url = await servers?.rabbitmq?.();
  if (url === undefined) throw new AbsentServer("for want of a RabbitMQ server");
  const body = suite.read(text(value, "envelope_file"));
  const admin = await Admin.open(url);
  const queue = admin.queue();
  const transport = rabbitmq(url);
  try {
    await transport.open({
      clock: systemClock,
      random: () => 0,
      bytes: (length) => new Uint8Array(length),
      emit: () => {},
    });
    const [outcome] = await transport.publish(queue, [{ body }]);
    assert.equal(outcome?.status, "confirmed");
    const { content, properties, fields } = await admin.take(queue);
    assert.deepEqual(new Uint8Array(content), body, "the body");
    assert.deepEqual([fields.exchange, fields.routingKey], ["", queue], "the address");
    for (const [name, expected] of Object.entries(record(value, "properties"))) {
      const property = PROPERTIES[name];
      assert.ok(property !== undefined, `unknown property '${name}'`);
      const actual: unknown = Reflect.get(properties, property);
      assert.deepEqual(actual, expected, name);
    }
    const { headers } = properties;
    assert.ok(isRecord(headers), "there are headers");
    // The decoded types too: an integer that was written as text would come back as text.
    assert.deepEqual({ ...headers }, { ...record(value, "headers") }, "the headers");
  } finally {
    await transport.close();
    await admin.close();
  }
};
