import assert from "node:assert/strict";
import { BabelQueueError, ConnectionError } from "@bq/core";
import { test } from "../harness.ts";
import { ended, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

const refused = (): Promise<never> => Promise.reject(new ConnectionError("refused"));

test("connect() opens once, whoever asks for the connection and how often", async () => {
  const opening = gate();
  const transport = new ScriptedTransport({ open: () => opening.opened });
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    const asking = Promise.all([
      bq.connect(),
      bq.connect(),
      bq.publish(URN, {}),
      bq.publishRaw("shop", new Uint8Array()),
      bq.consume({ waitMs: 0 }),
      bq.consume({ queue: "video", waitMs: 0 }),
    ]);
    await clock.advance(0);
    assert.deepEqual([transport.opens, transport.published.length], [1, 0]);
    assert.equal(bq.health().connected, false);
    opening.open();
    await ended(asking, clock);
    await bq.connect();
    assert.equal(transport.opens, 1);
    assert.equal(bq.health().connected, true);
    assert.equal(seen.of("connected").length, 1);
  });
});

test("connect() rejects at once with a fatal error, and may be called again", async () => {
  const wrong = new ConnectionError("wrong password", { fatal: true });
  const transport = new ScriptedTransport({ open: () => Promise.reject(wrong) });
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    await assert.rejects(bq.connect(), (error) => error === wrong);
    await assert.rejects(bq.publish(URN, {}), (error) => error === wrong);
    assert.deepEqual([transport.opens, transport.published.length, clock.now()], [2, 0, NOW_MS]);
    assert.equal(seen.of("disconnected").length, 0);
    transport.script = {};
    await bq.connect();
    assert.equal(bq.health().connected, true);
  });
});

test("what the runtime has no permission for is fatal, however it is wrapped", async () => {
  const named = (name: string, message: string): Error =>
    Object.assign(new Error(message), { name });
  const refusal = named("NotCapable", 'Requires net access to "localhost:6379"');
  const failures = [
    refusal,
    named("PermissionDenied", "Permission denied (os error 13)"),
    new ConnectionError("Cannot connect", { cause: refusal }),
    Object.assign(new Error("getaddrinfo EPERM"), { code: "EPERM", syscall: "getaddrinfo" }),
    new Error("Cannot connect", { cause: new Error("socket", { cause: refusal }) }),
  ];
  for (const failure of failures) {
    const transport = new ScriptedTransport({ open: () => Promise.reject(failure) });
    await withApp({ transport }, async ({ bq, clock, seen }) => {
      const isIt = (error: Error): boolean => error === failure || error.cause === failure;
      await assert.rejects(ended(bq.connect(), clock), isIt);
      await assert.rejects(ended(bq.publish(URN, {}), clock), isIt);
      const stop = new AbortController();
      const running = assert.rejects(bq.run({ signal: stop.signal }), isIt);
      await clock.advance(0);
      // A worker that tries again is called off here, and resolves.
      stop.abort();
      await running;
      assert.deepEqual([transport.opens, clock.now()], [3, NOW_MS]);
      assert.equal(seen.of("disconnected").length, 0);
    });
  }
});

test("a mistake in the program ends connecting and working at once, with what it is", async () => {
  for (const code of ["invalid_option", "unsupported", "closed"] as const) {
    const mistake = new BabelQueueError(code, "Cannot open: not this way");
    const transport = new ScriptedTransport({ open: () => Promise.reject(mistake) });
    await withApp({ transport }, async ({ bq, clock, seen }) => {
      const isIt = (error: unknown): boolean => error === mistake;
      await assert.rejects(ended(bq.connect(), clock), isIt);
      await assert.rejects(ended(bq.publish(URN, {}), clock), isIt);
      const stop = new AbortController();
      const running = assert.rejects(bq.run({ signal: stop.signal }), isIt);
      await clock.advance(0);
      // A worker that tries again is called off here, and resolves.
      stop.abort();
      await running;
      assert.deepEqual([transport.opens, clock.now()], [3, NOW_MS]);
      assert.equal(seen.of("disconnected").length, 0);
    });
  }
});

test("an error whose cause is itself or cannot be looked at, or that a network refused, is tried again", async () => {
  const circular = new ConnectionError("refused");
  Object.assign(circular, { cause: circular });
  const opaque = new ConnectionError("refused");
  Object.defineProperty(opaque, "cause", {
    get: () => {
      throw new Error("no cause");
    },
  });
  const blocked = Object.assign(new Error("connect EPERM"), { code: "EPERM", syscall: "connect" });
  for (const failure of [circular, opaque, blocked]) {
    const transport = new ScriptedTransport({ open: () => Promise.reject(failure) });
    await withApp({ transport }, async ({ bq, clock }) => {
      await assert.rejects(ended(bq.connect(), clock), (error) => error === failure);
      assert.ok(transport.opens > 2);
    });
  }
});

test("connect() tries again with doubling waits and tells every failure", async () => {
  const failure = new ConnectionError("refused");
  const at: number[] = [];
  const transport = new ScriptedTransport({
    open: ({ clock }) => {
      at.push(clock.now() - NOW_MS);
      return at.length < 6 ? Promise.reject(failure) : undefined;
    },
  });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    await ended(bq.connect(), clock);
    assert.deepEqual(at, [0, 100, 300, 700, 1_500, 3_100]);
    assert.deepEqual(seen.of("disconnected").map(({ error }) => error), Array(5).fill(failure));
    assert.equal(seen.events.at(-1)?.type, "connected");
  });
});

test("connect() takes up to a half of each wait by chance", async () => {
  const at: number[] = [];
  const transport = new ScriptedTransport({
    open: ({ clock }) => {
      at.push(clock.now() - NOW_MS);
      return at.length < 3 ? refused() : undefined;
    },
  });
  await withApp({ transport, random: () => 0.5 }, async ({ bq, clock }) => {
    await ended(bq.connect(), clock);
    assert.deepEqual(at, [0, 75, 225]);
  });
});

test("connect() gives up after 30 s with what the last try met", async () => {
  let tries = 0;
  const transport = new ScriptedTransport({
    open: () => Promise.reject(new ConnectionError(`refused ${++tries}`)),
  });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.connect(), { code: "connection", message: "refused 9" });
    let over = false;
    void outcome.then(() => over = true);
    await clock.advance(29_999);
    assert.equal(over, false);
    await clock.advance(1);
    await outcome;
    await clock.advance(100_000);
    assert.equal(tries, 9);
  });
});

test("connect() does not wait for an open that never answers", async () => {
  const transport = new ScriptedTransport({ open: () => never() });
  await withApp({ transport }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.connect(), { code: "connection", message: /'scripted'/ });
    await clock.advance(30_000);
    await outcome;
  });
});

test("connect() ends with its signal: before, while it opens, while it waits", async () => {
  const aborted = AbortSignal.abort();
  const hanging = new ScriptedTransport({ open: () => never() });
  await withApp({ transport: hanging }, async ({ bq, clock }) => {
    await assert.rejects(bq.connect({ signal: aborted }), ConnectionError);
    const abort = new AbortController();
    const outcome = assert.rejects(bq.connect({ signal: abort.signal }), ConnectionError);
    await clock.advance(10);
    abort.abort();
    await outcome;
    assert.equal(clock.now(), NOW_MS + 10);
  });
  const refusing = new ScriptedTransport({ open: refused });
  await withApp({ transport: refusing }, async ({ bq, clock }) => {
    const abort = new AbortController();
    const outcome = assert.rejects(bq.connect({ signal: abort.signal }), { message: "refused" });
    await clock.advance(0);
    assert.equal(refusing.opens, 1);
    abort.abort();
    await outcome;
    await clock.advance(60_000);
    assert.equal(refusing.opens, 1);
  });
});

test("a caller that gives up does not end the wait of another", async () => {
  const opening = gate();
  const transport = new ScriptedTransport({ open: () => opening.opened });
  await withApp({ transport }, async ({ bq, clock }) => {
    const abort = new AbortController();
    const impatient = assert.rejects(bq.connect({ signal: abort.signal }), ConnectionError);
    const patient = bq.publish(URN, {});
    await clock.advance(0);
    abort.abort();
    await impatient;
    opening.open();
    await patient;
    assert.equal(transport.opens, 1);
  });
});

test("what a transport throws that is no Error is told as one", async () => {
  const transport = new ScriptedTransport({ open: () => Promise.reject("no route to host") });
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    const outcome = assert.rejects(bq.connect(), (error) => {
      assert.ok(error instanceof Error);
      assert.equal(error.message, "no route to host");
      return true;
    });
    await clock.advance(30_000);
    await outcome;
    assert.equal(seen.of("disconnected")[0]?.error?.message, "no route to host");
  });
});

test("an open without an answer is given up after 30 s, and the next one may succeed", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const transport = new ScriptedTransport({
    open: (_context, signal) => signals.push(signal) === 1 ? never() : undefined,
  });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(29_999);
    assert.deepEqual([transport.opens, signals[0]?.aborted], [1, false]);
    await clock.advance(1);
    assert.equal(signals[0]?.aborted, true);
    assert.match(seen.of("disconnected")[0]!.error!.message, /no answer in time$/);
    await clock.advance(100);
    assert.deepEqual([transport.opens, bq.health().connected], [2, true]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("an open that was given up and succeeds late is a connection, whatever the next one met", async () => {
  const answering = gate();
  const refusal = new ConnectionError("open already", { fatal: true });
  const transport = new ScriptedTransport();
  transport.script.open = () =>
    transport.opens === 1 ? answering.opened : answering.opened.then(() => Promise.reject(refusal));
  await withApp({ transport, random: () => 0 }, async ({ bq, clock }) => {
    const running = bq.run();
    await clock.advance(30_100);
    assert.equal(transport.opens, 2);
    answering.open();
    await clock.advance(0);
    assert.deepEqual([bq.health().connected, bq.health().queues[0]?.state], [true, "working"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a connection that is lost and found is told once each, and shown", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, seen }) => {
    await bq.connect();
    const { emit } = transport.context!;
    const error = new Error("reset by peer");
    emit({ type: "connected" });
    emit({ type: "disconnected", error });
    emit({ type: "disconnected" });
    assert.equal(bq.health().connected, false);
    emit({ type: "connected" });
    assert.equal(bq.health().connected, true);
    emit({ type: "warning", code: "clamped", message: "delay cut to 900 s" });
    assert.deepEqual(seen.events, [
      { level: "info", type: "connected" },
      { level: "warn", type: "disconnected", error },
      { level: "info", type: "connected" },
      { level: "warn", type: "warning", code: "transport", message: "clamped: delay cut to 900 s" },
    ]);
  });
});

test("the transport gets the App's clock and chance, and bytes that are random", async () => {
  const transport = new ScriptedTransport();
  const draws = [0.25, 0.75];
  await withApp({ transport, random: () => draws.shift() ?? 0 }, async ({ bq, clock }) => {
    await bq.connect();
    const context = transport.context!;
    assert.equal(context.clock, clock);
    assert.deepEqual([context.random(), context.random()], [0.25, 0.75]);
    const [one, two] = [context.bytes(16), context.bytes(16)];
    assert.equal(one.length, 16);
    assert.notDeepEqual(one, two);
  });
});
