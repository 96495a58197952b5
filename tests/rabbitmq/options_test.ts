/** What `rabbitmq()` takes and what it refuses, before anything is sent. */

import assert from "node:assert/strict";
import amqp from "amqplib";
import { BabelQueueError } from "@bq/core";
import { delayQueueOf, DELAYS_MS, rabbitmq, type RabbitmqOptions } from "@bq/rabbitmq";
import { dial } from "../../transports/rabbitmq/_dial.ts";
import { resolveOptions } from "../../transports/rabbitmq/options.ts";
import { delayFor } from "../../transports/rabbitmq/delays.ts";
import { test } from "../harness.ts";

function refused(options: unknown, message: RegExp): void {
  assert.throws(() => rabbitmq(options as RabbitmqOptions), (error: unknown) => {
    assert.ok(error instanceof BabelQueueError);
    assert.equal(error.code, "invalid_option");
    assert.match(error.message, message);
    return true;
  });
}

const connection = {
  on: () => {},
  removeListener: () => {},
  createChannel: () => Promise.reject(new Error("none")),
  createConfirmChannel: () => Promise.reject(new Error("none")),
  close: () => Promise.resolve(),
};

test("rabbitmq() refuses what cannot be, naming option, value and bound", () => {
  refused({ url: "localhost:5672" }, /'url'.*amqp:\/\//);
  refused({ url: "artemis://localhost" }, /'url'/);
  refused("amqp//user:secret@host", /'url'/);
  refused({ url: "amqp://h?delayQueues=1" }, /'url delayQueues' to '1'.*as an option/);
  refused({ connection: {} }, /'connection'.*amqplib/);
  refused({ connection: null }, /'connection'/);
  refused({ url: "amqp://h", connection }, /'url' and 'connection' together/);
  refused({ heartbeatMs: 1_000, connection }, /'heartbeatMs' and 'connection'/);
  refused({ socket: {}, connection }, /'socket' and 'connection'/);
  refused({ socket: 7 }, /'socket' to 7/);
  refused({ heartbeatMs: 1_500 }, /'heartbeatMs' to 1500.*whole seconds/);
  refused({ heartbeatMs: -1 }, /'heartbeatMs' to -1/);
  refused({ heartbeatMs: 65_536_000 }, /'heartbeatMs' to 65536000/);
  refused({ connectTimeoutMs: 0 }, /'connectTimeoutMs' to 0/);
  refused({ maxUnconfirmed: 0 }, /'maxUnconfirmed' to 0/);
  refused({ receive: "push" }, /'receive' to 'push'.*consume, get/);
  refused({ pollIntervalMs: 0 }, /'pollIntervalMs' to 0/);
  refused({ declare: true }, /'declare' to true.*false, 'passive' or an object/);
  refused({ declare: { durable: false } }, /'declare\.durable': the options here are arguments/);
  refused({ declare: { arguments: [] } }, /'declare\.arguments'/);
  refused(
    { declare: { arguments: { "x-max-length": 10n } } },
    /'declare\.arguments\.x-max-length' to 10.*a string, a number or a boolean/,
  );
  refused({ declare: { arguments: { a: NaN } } }, /'declare\.arguments\.a' to NaN/);
  refused("amqp://h?heartbeat=abc", /'url heartbeat' to 'abc'.*a whole number/);
  refused({ delayExchange: "" }, /'delayExchange' to ''/);
  refused({ delayQueues: "yes" }, /'delayQueues' to 'yes'/);
  refused({ delayExchange: "d", delayQueues: true }, /'delayExchange' and 'delayQueues'/);
  refused({ declare: false, delayQueues: true }, /'delayQueues' with 'declare: false'/);
  refused({ prefetch: 10 }, /'prefetch': the options here are url, connection/);
  refused(null, /options/);
});

test("a refused URL is not repeated, since it may hold a password", () => {
  assert.throws(() => rabbitmq("amqp//user:secret@host"), (error: Error) => {
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("Q15 the defaults are the contract's", () => {
  assert.deepEqual(resolveOptions({}), {
    url: "amqp://guest:guest@localhost:5672",
    connection: undefined,
    socket: {},
    heartbeatMs: 20_000,
    connectTimeoutMs: 10_000,
    maxUnconfirmed: 1_000,
    receive: "consume",
    pollIntervalMs: 1_000,
    declare: undefined,
    delayExchange: undefined,
    delayQueues: false,
  });
});

test("a socket sends what is small at once, whatever 'socket' says, and has the rest of it", async () => {
  const { signal } = new AbortController();
  const own = { noDelay: true, signal, timeout: 10_000 };
  const { connect } = amqp;
  const seen: unknown[] = [];
  Object.assign(amqp, {
    connect: (_: string, options: unknown) => {
      seen.push(options);
      return Promise.reject(new Error("nothing is dialled here"));
    },
  });
  try {
    for (const socket of [{}, { noDelay: false, keepAlive: false, servername: "inside" }]) {
      await assert.rejects(dial(resolveOptions({ socket }), signal), /nothing is dialled/);
    }
  } finally {
    Object.assign(amqp, { connect });
  }
  assert.deepEqual(seen, [
    { keepAlive: true, ...own },
    { keepAlive: false, servername: "inside", ...own },
  ]);
});

test("capabilities and policy say how delays are made", () => {
  const delayOf = (options: RabbitmqOptions): string =>
    rabbitmq(options).capabilities.publishDelay.kind;
  assert.equal(delayOf({}), "none");
  assert.equal(delayOf({ delayQueues: true }), "native");
  assert.equal(delayOf({ delayExchange: "delayed" }), "native");
  const retryOf = (options: RabbitmqOptions): string => rabbitmq(options).policy.retryDelay.kind;
  assert.equal(retryOf({}), "native");
  assert.equal(retryOf({ declare: "passive" }), "native");
  assert.equal(retryOf({ declare: false }), "held");
  assert.equal(retryOf({ declare: false, delayExchange: "delayed" }), "native");
});

test("a delay goes up to the next of the delay queues", () => {
  const wanted: readonly (readonly [number, number])[] = [
    [0, 0],
    [-5, 0],
    [NaN, 0],
    [0.1, 1_000],
    [1_000, 1_000],
    [1_001, 2_000],
    [6_000, 10_000],
    [31_000, 60_000],
    [1_800_001, 3_600_000],
    [2_592_000_000, 2_592_000_000],
    [Infinity, 2_592_000_000],
  ];
  for (const [ms, delay] of wanted) assert.equal(delayFor(ms), delay, `${ms}`);
  assert.deepEqual(DELAYS_MS, DELAYS_MS.toSorted((left, right) => left - right));
  assert.equal(delayQueueOf("orders", 5_000), "orders.delay.5000");
});
