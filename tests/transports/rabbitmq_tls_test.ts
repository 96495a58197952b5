/** TLS: `amqps://`, with an authority that the options name. */

import assert from "node:assert/strict";
import { BabelQueue, ConnectionError } from "@bq/core";
import { rabbitmq } from "@bq/rabbitmq";
import {
  absent,
  absentRabbitmq,
  brokerOfFile,
  type Certificates,
  makeCertificates,
  startRabbitmq,
} from "../brokers/mod.ts";
import { test } from "../harness.ts";

let certificates: Certificates = { ca: "", cert: "", key: "" };
const ignore = await absentRabbitmq({ own: true }) || await absent("openssl", async () => {
  certificates = await makeCertificates();
});
const broker = brokerOfFile(ignore, () => startRabbitmq({ tls: certificates }));

const URN = "urn:babel:orders:created";

test("a message of a megabyte goes over TLS and comes back", async () => {
  const { ca } = certificates;
  const queue = `tls-${crypto.randomUUID()}`;
  const transport = rabbitmq({ url: broker().tlsUrl, socket: { ca } });
  const bq = new BabelQueue(transport, { queue, onEvent: () => {} });
  const text = "0123456789abcdef".repeat(65_536);
  let got: unknown;
  bq.handle(URN, ({ s }) => {
    got = s;
  });
  await bq.publish(URN, { s: text });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  assert.equal(got, text);
}, { ignore });

test("a server whose authority nobody vouches for is refused, and that is final", async () => {
  const bq = new BabelQueue(rabbitmq(broker().tlsUrl), { onEvent: () => {} });
  await assert.rejects(bq.connect(), (error: unknown) => {
    assert.ok(error instanceof ConnectionError, `${error}`);
    assert.equal(error.fatal, true, error.message);
    return true;
  });
  await bq.close();
}, { ignore });
