import assert from "node:assert/strict";
import { BabelQueue, BabelQueueError, type BabelQueueOptions, memory } from "@bq/core";
import { resolveOptions } from "../../runtime/options.ts";
import { test } from "../harness.ts";
import { URN } from "./_app.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;
const INTEGER = `an integer from 1 to ${LARGEST}`;
const DURATION = `a number of milliseconds from 0 to ${LARGEST}`;
const POSITIVE = `a number of milliseconds from 1 to ${LARGEST}`;
const TEXT = "a string that is not empty";
const FLAG = "true or false";
const FUNCTION = "a function";

const nonNumbers = ["7", null, true, NaN, Infinity, -Infinity, -1, LARGEST + 1, {}, [], 7n];
const nonIntegers = [...nonNumbers, 0, 1.5];
const nonTexts = ["", 7, true, {}, [], () => {}];
const nonFlags = ["true", 0, 1, null, {}];

/** Option, its bound, values beyond it. */
const APP: readonly (readonly [name: string, bound: string, values: readonly unknown[]])[] = [
  ["queue", TEXT, [...nonTexts, null]],
  ["onUnknownUrn", "one of fail, delete, release, dead_letter", ["FAIL", "deadLetter", "", null]],
  ["maxAttempts", INTEGER, nonIntegers],
  ["deadLetter", FLAG, nonFlags],
  ["deadLetterQueue", TEXT, nonTexts],
  ["deadLetterSuffix", TEXT, [...nonTexts, null]],
  ["retry", "an object", [null, 5, "1s", [100], () => {}]],
  ["retry.baseMs", DURATION, nonNumbers],
  ["retry.multiplier", "a finite number of at least 1", ["2", null, NaN, Infinity, 0.99, -1, 0]],
  ["retry.maxMs", DURATION, nonNumbers],
  ["retry.jitter", "one of none, full", ["half", "", null, true, 0]],
  ["retry.maxHoldMs", DURATION, nonNumbers],
  ["unknownUrnReleaseDelayMs", DURATION, nonNumbers],
  ["shutdownTimeoutMs", DURATION, nonNumbers],
  ["concurrency", INTEGER, nonIntegers],
  ["prefetch", INTEGER, nonIntegers],
  ["strict", FLAG, nonFlags],
  ["handlerTimeoutMs", POSITIVE, [...nonNumbers, 0, 0.5]],
  ["pollTimeoutMs", DURATION, nonNumbers],
  ["onEvent", FUNCTION, ["log", null, {}, 1]],
  ["clock", "an object with now(), elapsed() and sleep()", [
    null,
    5,
    {},
    () => 0,
    { now: () => 0, sleep: () => Promise.resolve() },
  ]],
  ["random", FUNCTION, [0.5, null, {}, Math]],
];

/** Asserts that the error names option, value and bound. */
function refused(run: () => unknown, name: string, value: unknown, bound: string): void {
  const shown = typeof value === "string"
    ? `'${value}'`
    : Array.isArray(value)
    ? "an array"
    : typeof value === "function"
    ? "a function"
    : typeof value === "object" && value !== null
    ? "an object"
    : String(value);
  assert.throws(run, (error) => {
    assert.ok(error instanceof BabelQueueError, `${name} = ${shown}: ${error}`);
    assert.equal(error.code, "invalid_option");
    assert.equal(error.message, `Cannot set option '${name}' to ${shown}: it must be ${bound}`);
    return true;
  }, `${name} = ${shown} was accepted`);
}

function optionsWith(name: string, value: unknown): BabelQueueOptions {
  const [first, second] = name.split(".");
  return (second === undefined
    ? { [first!]: value }
    : { [first!]: { [second]: value } }) as BabelQueueOptions;
}

for (const [name, bound, values] of APP) {
  test(`new BabelQueue() refuses '${name}' when it is not ${bound}`, () => {
    for (const value of values) {
      refused(() => new BabelQueue(memory(), optionsWith(name, value)), name, value, bound);
    }
  });
}

test("new BabelQueue() takes every option at its bounds, and undefined as not set", () => {
  const atBounds: Record<string, readonly unknown[]> = {
    "queue": ["q", " "],
    "onUnknownUrn": ["fail", "delete", "release", "dead_letter"],
    "maxAttempts": [1, LARGEST],
    "deadLetter": [true, false],
    "deadLetterQueue": ["dead", null],
    "deadLetterSuffix": ["-dead"],
    "retry": [{}],
    "retry.baseMs": [0, 0.5, LARGEST],
    "retry.multiplier": [1, 1.5, Number.MAX_VALUE],
    "retry.maxMs": [0, LARGEST],
    "retry.jitter": ["none", "full"],
    "retry.maxHoldMs": [0, LARGEST],
    "unknownUrnReleaseDelayMs": [0, LARGEST],
    "shutdownTimeoutMs": [0, LARGEST],
    "concurrency": [1, LARGEST],
    "prefetch": [1, LARGEST],
    "strict": [true, false],
    "handlerTimeoutMs": [1, LARGEST],
    "pollTimeoutMs": [0, LARGEST],
    "onEvent": [() => {}],
    "clock": [{ now: () => 0, elapsed: () => 0, sleep: () => Promise.resolve() }],
    "random": [() => 0],
  };
  assert.deepEqual(Object.keys(atBounds).sort(), APP.map(([name]) => name).sort());
  for (const [name, values] of Object.entries(atBounds)) {
    for (const value of [...values, undefined]) {
      assert.doesNotThrow(() => new BabelQueue(memory(), optionsWith(name, value)), name);
    }
  }
});

test("an unknown option is refused with the names that there are", async () => {
  const bq = new BabelQueue(memory());
  const unknown = (text: RegExp) => ({ code: "invalid_option", message: text });
  const loose = (options: object): never => options as never;
  const known =
    /^Cannot set option 'maxRetries': the options here are queue, onUnknownUrn, .*random$/;
  assert.throws(() => new BabelQueue(memory(), loose({ maxRetries: 3 })), unknown(known));
  assert.throws(
    () => new BabelQueue(memory(), loose({ retry: { delayMs: 3 } })),
    unknown(/^Cannot set option 'retry\.delayMs': the options here are baseMs, multiplier, maxMs,/),
  );
  for (const name of ["constructor", "toString", "hasOwnProperty"]) {
    assert.throws(() => new BabelQueue(memory(), loose({ [name]: 1 })), unknown(RegExp(name)));
  }
  assert.throws(
    () => bq.handle(URN, () => {}, loose({ retries: 1 })),
    unknown(/'retries': the options here are queue, maxAttempts, timeoutMs, bigint$/),
  );
  await assert.rejects(
    bq.run(loose({ queue: "shop" })),
    unknown(/'queue': the options here are queues, concurrency, signal, forceSignal$/),
  );
  await assert.rejects(
    bq.consume(loose({ max: 1 })),
    unknown(/'max': the options here are queue, maxMessages, waitMs, concurrency, signal$/),
  );
  await assert.rejects(bq.publish(URN, {}, loose({ delay: 1 })), unknown(/'delay': the options/));
  await assert.rejects(
    bq.publishMany([], loose({ queue: "shop" })),
    unknown(/'queue': the options here are timeoutMs, signal$/),
  );
  await assert.rejects(
    bq.publishMany([loose({ message: URN, data: {} }), loose({ message: URN, date: {} })]),
    unknown(/'items\[1\]\.date': the options here are/),
  );
  await assert.rejects(
    bq.publishRaw("shop", new Uint8Array(), loose({ queue: "shop" })),
    unknown(/'queue': the options here are key, delayMs, headers, timeoutMs, signal$/),
  );
  await bq.close();
});

test("options that are no object are refused", async () => {
  for (const options of [null, 5, "queue", [], () => {}]) {
    refused(() => new BabelQueue(memory(), options as never), "options", options, "an object");
  }
  const bq = new BabelQueue(memory());
  await assert.rejects(bq.run([] as never), /Cannot set option 'options' to an array/);
  await assert.rejects(bq.publishMany([null as never]), /Cannot set option 'items\[0\]' to null/);
  await bq.close();
});

test("an App does not change with its options object", async () => {
  const retry = { baseMs: 5 };
  const options = { queue: "first", deadLetter: true, retry };
  const transport = memory();
  const bq = new BabelQueue(transport, options);
  options.queue = "second";
  retry.baseMs = 60_000;
  await bq.publish(URN, {});
  assert.equal((await transport.size("first")).ready, 1);
  await bq.close();
});

/** Bounds of the options of one call. */
async function refusedBy(
  call: (options: never) => unknown,
  table: readonly (readonly [name: string, bound: string, values: readonly unknown[]])[],
  shownAs: (name: string) => string = (name) => name,
): Promise<void> {
  for (const [name, bound, values] of table) {
    for (const value of values) {
      let thrown: unknown;
      try {
        await call({ [name]: value } as never);
      } catch (error) {
        thrown = error;
      }
      refused(
        () => {
          if (thrown !== undefined) throw thrown;
        },
        shownAs(name),
        value,
        bound,
      );
    }
  }
}

const nonSignals = [null, {}, new AbortController(), "stop", 5];
const SIGNAL = "an AbortSignal";
const SEND = [
  ["timeoutMs", POSITIVE, [...nonNumbers, 0]],
  ["signal", SIGNAL, nonSignals],
] as const;
const RAW = [
  ["key", "a string, bytes or null", [5, {}, [1], true]],
  ["delayMs", DURATION, nonNumbers],
  [
    "headers",
    "a plain object; Object.fromEntries makes one of Headers or a Map",
    [null, "a=b", 5, ["a"], new Map([["a", "b"]]), new Headers({ a: "b" })],
  ],
  ...SEND,
] as const;
const MESSAGE = [
  ...RAW,
  ["queue", TEXT, [...nonTexts, null]],
  ["traceId", "a string", [null, 5, {}]],
  ["meta", "an object", [null, "x", 5]],
] as const;

test("handle() refuses options beyond their bounds by option, value and bound", async () => {
  const bq = new BabelQueue(memory());
  await refusedBy((options) => bq.handle(URN, () => {}, options), [
    ["queue", TEXT, [...nonTexts, null]],
    ["maxAttempts", INTEGER, nonIntegers],
    ["timeoutMs", POSITIVE, [...nonNumbers, 0]],
    ["bigint", FLAG, nonFlags],
  ]);
  await bq.close();
});

test("run() and consume() refuse options beyond their bounds by option, value and bound", async () => {
  const bq = new BabelQueue(memory());
  await refusedBy((options) => bq.run(options), [
    ["concurrency", INTEGER, nonIntegers],
    ["signal", SIGNAL, nonSignals],
    ["forceSignal", SIGNAL, nonSignals],
  ]);
  await refusedBy((options) => bq.consume(options), [
    ["queue", TEXT, [...nonTexts, null]],
    ["maxMessages", INTEGER, nonIntegers],
    ["waitMs", DURATION, nonNumbers],
    ["concurrency", INTEGER, nonIntegers],
    ["signal", SIGNAL, nonSignals],
  ]);
  await bq.close();
});

test("run() refuses queues that are none, by the place in the list", async () => {
  const bq = new BabelQueue(memory());
  const rows: readonly [queues: unknown, message: RegExp][] = [
    [[], /option 'queues' names no queue/],
    [{}, /option 'queues' names no queue/],
    [["shop", ""], /Cannot set option 'queues' to '': it must be a string that is not empty/],
    [[7], /Cannot set option 'queues' to 7/],
    [{ shop: 0 }, /Cannot set option 'queues\.shop' to 0: it must be an integer from 1/],
    [{ shop: "8" }, /Cannot set option 'queues\.shop' to '8'/],
    [{ shop: 1.5 }, /Cannot set option 'queues\.shop' to 1\.5/],
    [{ "": 1 }, /Cannot set option 'queues' to ''/],
    ["shop", /Cannot set option 'queues' to 'shop': it must be/],
    [5, /Cannot set option 'queues' to 5: it must be/],
    [null, /Cannot set option 'queues' to null: it must be/],
  ];
  for (const [queues, message] of rows) {
    await assert.rejects(bq.run({ queues: queues as never }), { code: "invalid_option", message });
  }
  await bq.close();
});

test("publish(), publishMany() and publishRaw() refuse options beyond their bounds", async () => {
  const transport = memory();
  const bq = new BabelQueue(transport);
  await refusedBy((options) => bq.publish(URN, {}, options), MESSAGE);
  await refusedBy(
    (options) => bq.publishMany([{ message: URN, data: {}, ...options as object }]),
    MESSAGE.filter(([name]) => name !== "timeoutMs" && name !== "signal"),
    (name) => `items[0].${name}`,
  );
  await refusedBy((options) => bq.publishMany([], options), SEND);
  await refusedBy((options) => bq.publishRaw("shop", new Uint8Array(), options), RAW);
  for (const queue of nonTexts) {
    await assert.rejects(bq.publishRaw(queue as never, new Uint8Array()), /option 'queue'/);
  }
  for (const body of ["text", null, [1], new ArrayBuffer(1)]) {
    await assert.rejects(bq.publishRaw("shop", body as never), /option 'body' .* a Uint8Array$/);
  }
  await bq.connect();
  for (const queue of ["default", "shop"]) {
    assert.deepEqual(await transport.size(queue), { ready: 0, delayed: 0, inFlight: 0 });
  }
  await bq.close();
});

test("options of a class are read once, checked and used", async () => {
  const reads: Record<string, number> = {};
  const read = <T>(name: string, value: T): T => {
    reads[name] = (reads[name] ?? 0) + 1;
    return value;
  };
  class Given {
    get queue(): string {
      return read("queue", "orders");
    }
    get delayMs(): number {
      return read("delayMs", 5_000);
    }
  }
  const bq = new BabelQueue(
    memory(),
    Object.create({ queue: "home", retry: Object.create({ baseMs: 5 }) }),
  );
  await bq.publish("urn:babel:a:b", {});
  await bq.publish("urn:babel:a:b", {}, new Given());
  assert.deepEqual(reads, { queue: 1, delayMs: 1 });
  assert.equal((await bq.size("home")).ready, 1);
  assert.equal((await bq.size("orders")).delayed, 1);
  await bq.publishMany([Object.create({ message: "urn:babel:a:b", data: {}, queue: "many" })]);
  assert.equal((await bq.size("many")).ready, 1);
  assert.equal((await Array.fromAsync(bq.peek("home", Object.create({ max: 1 })))).length, 1);
  await bq.close();
  assert.equal(
    resolveOptions(Object.create({ retry: Object.create({ baseMs: 5 }) })).retry.baseMs,
    5,
  );
});

test("options of a class are refused beyond their bounds", async () => {
  const bq = new BabelQueue(memory());
  const code = { code: "invalid_option" };
  const loose = (options: object): never => Object.create(options) as never;
  assert.throws(() => new BabelQueue(memory(), loose({ maxAttempts: 0 })), code);
  assert.throws(() => new BabelQueue(memory(), { retry: loose({ baseMs: -1 }) }), code);
  assert.throws(() => memory(loose({ leaseMs: 0 })), code);
  assert.throws(() => bq.handle("urn:babel:a:b", () => {}, loose({ maxAttempts: 0 })), code);
  await assert.rejects(bq.publish("urn:babel:a:b", {}, loose({ timeoutMs: -5 })), code);
  await assert.rejects(bq.publishMany([loose({ delayMs: -5 })]), code);
  await assert.rejects(bq.publishRaw("shop", new Uint8Array(), loose({ headers: 5 })), code);
  await assert.rejects(bq.run(loose({ concurrency: 0 })), code);
  await assert.rejects(bq.consume(loose({ maxMessages: 0 })), code);
  await assert.rejects(bq.connect(loose({ signal: 5 })), code);
  await assert.rejects(Array.fromAsync(bq.peek("shop", loose({ max: 0 }))), code);
  await assert.rejects(bq.run({ queues: [, "shop"] as never }), code);
  await bq.close();
});

test("headers without a prototype are plain too", async () => {
  const bq = new BabelQueue(memory());
  const headers = Object.assign(Object.create(null), { tenant: "7" });
  await bq.publish("urn:babel:a:b", {}, { headers });
  const [seen] = await Array.fromAsync(bq.peek());
  assert.deepEqual({ ...seen!.headers }, { tenant: "7" });
  await bq.close();
});

test("chance that is no number from 0 to 1, or throws, is 0", () => {
  for (const drawn of [NaN, -1, 1, 7, "0.5", undefined]) {
    assert.equal(resolveOptions({ random: () => drawn as number }).random(), 0);
  }
  const broken = (): number => {
    throw new Error("no entropy");
  };
  assert.equal(resolveOptions({ random: broken }).random(), 0);
  assert.equal(resolveOptions({ random: () => 0.25 }).random(), 0.25);
});
