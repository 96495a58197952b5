/** TLS with an authority that is not one of the system's, on every runtime and with both clients. */

import assert from "node:assert/strict";
import { ConnectionError } from "@bq/core";
import { kafka, type KafkaOptions, platformaticClient } from "@bq/kafka";
import {
  absent,
  absentKafka,
  brokerOfFile,
  type Certificates,
  KAFKA_TLS_OFFSET,
  makeCertificates,
  startKafka,
} from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { onBench } from "../kafka/bench.ts";
import { contextOf } from "../kafka/lab.ts";

let certificates: Certificates = { ca: "", cert: "", key: "" };
const ignore = await absentKafka({ own: true }) || await absent("openssl", async () => {
  certificates = await makeCertificates();
});
const broker = brokerOfFile(ignore, () => startKafka({ tls: certificates }));
const address = (): string => `127.0.0.1:${broker().port + KAFKA_TLS_OFFSET}`;

const CLIENTS: Readonly<Record<string, () => KafkaOptions>> = {
  kafkajs: () => ({
    url: `kafka://${address()}?ssl=true`,
    connection: { ssl: { ca: [certificates.ca] } },
  }),
  "@platformatic/kafka": () => ({
    client: platformaticClient({
      bootstrapBrokers: [address()],
      tls: { ca: [certificates.ca] },
    }),
  }),
};

for (const [name, options] of Object.entries(CLIENTS)) {
  test(
    `a body of a megabyte goes and comes over TLS with ${name}`,
    () =>
      onBench(broker(), {}, async (bench) => {
        const queue = await bench.queue();
        const transport = await bench.open(options());
        const body = crypto.getRandomValues(new Uint8Array(60_000));
        const large = Uint8Array.from({ length: 1_000_000 }, (_, n) => body[n % body.length]!);
        const [outcome] = await transport.publish(queue, [{ body: large }]);
        assert.equal(outcome!.status, "confirmed");
        const subscription = await bench.subscribe(queue, { transport });
        const delivery = await bench.one(subscription);
        assert.deepEqual(new Uint8Array(delivery.body), large);
        assert.equal(await subscription.settle(delivery, { kind: "ack" }), "settled");
      }),
    { ignore, sanitize: name === "kafkajs" },
  );
}

test("a server whose authority nobody trusts is not spoken to", async () => {
  const connection = { retry: { retries: 0 } };
  const transport = kafka({ url: `kafka://${address()}?ssl=true`, connection });
  await assert.rejects(transport.open(contextOf()), ConnectionError);
  await transport.close();
}, { ignore });
