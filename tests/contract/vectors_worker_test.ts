/** Worked cases that need a worker, on the memory transport. */

import assert from "node:assert/strict";
import { SettleWriteError } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { bodies, boom, DLQ, done, faulty, first, onBench, once, QUEUE } from "./_bench.ts";
import { B0, b0, deadLetterText, META, TP, U } from "./_vectors.ts";

test("V002 a publish with blank riders is a publish without riders", async () => {
  await onBench({}, null, async ({ bq, transport }) => {
    await bq.publish(U, {}, { headers: { a: "" } });
    await bq.publish(U, {}, { headers: { traceparent: TP } });
    const headers: object[] = [];
    for await (const message of transport.peek(QUEUE)) headers.push({ ...message.headers });
    assert.deepEqual(headers, [{}, { traceparent: TP }]);
  });
});

test("V005 a body of another version never meets a handler", async () => {
  const body = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });
  await onBench({ deadLetter: true }, done, async ({ bq, transport, calls }) => {
    await inject(bq, QUEUE, body);
    assert.equal((await bq.consume(once)).deadLettered, 1);
    const [record] = await bodies(transport, DLQ);
    assert.ok(record!.startsWith(`${body.slice(0, -1)},"dead_letter":{"reason":"poison",`));
    assert.equal(calls.length, 0);
  });
});

test("V021 a failed acknowledgement after success is reported and nothing else", async () => {
  const transport = faulty(({ kind }) => kind === "ack" ? new Error("channel gone") : undefined);
  await onBench({ deadLetter: true }, done, async ({ bq, seen, calls }) => {
    await inject(bq, QUEUE, B0);
    await bq.consume(first);
    assert.equal(calls.length, 1);
    assert.equal(seen.of("settleFailed")[0]?.error.message, "channel gone");
    for (const type of ["retried", "released", "returned", "deadLettered"] as const) {
      assert.equal(seen.of(type).length, 0, type);
    }
    assert.deepEqual(await bodies(transport, DLQ), []);
  }, transport);
});

test("V022 the retry copy keeps unknown members", async () => {
  const body = b0({ meta: META.replace("}", ',"vendor_flag":true}') })
    .replace(/\}$/, ',"extra_top":"x"}');
  await onBench({}, boom, async ({ bq, transport }) => {
    await inject(bq, QUEUE, body);
    await bq.consume(first);
    assert.deepEqual(await bodies(transport, QUEUE), [
      body.replace('"attempts":0', '"attempts":1'),
    ]);
  });
});

test("V024 V904 a failed dead-letter write keeps the message, and the worker goes on", async () => {
  let broken = true;
  const transport = faulty(({ kind }) =>
    kind === "deadLetter" && broken ? new SettleWriteError("no space") : undefined
  );
  await onBench({ deadLetter: true, maxAttempts: 1 }, boom, async ({ bq, seen, calls }) => {
    await inject(bq, QUEUE, B0);
    await bq.consume(first);
    assert.equal(calls.length, 1);
    assert.equal(seen.of("writeFailed")[0]?.error.message, "no space");
    assert.deepEqual(await bodies(transport, QUEUE), [B0]);
    assert.deepEqual(await bodies(transport, DLQ), []);
    broken = false;
    await bq.consume(once);
    assert.deepEqual(calls.map(([, attempt]) => attempt), [1, 1]);
    assert.deepEqual(await bodies(transport, QUEUE), []);
    assert.deepEqual(await bodies(transport, DLQ), [
      `${b0({ attempts: '"attempts":1' }).slice(0, -1)},${
        deadLetterText("failed", 1, "shop", "boom", "Error")
      }}`,
    ]);
  }, transport);
});

test("V025 wrongly spelled integers are poison, odd ones reach the handler", async () => {
  const attempts = (literal: string): string => b0({ attempts: `"attempts":${literal}` });
  await onBench({ deadLetter: true }, done, async ({ bq, calls }) => {
    const poison = [
      ...["4.0", "3E1", '"2"', "10000000000000000000"].map(attempts),
      b0({ meta: META.replace("1760000000123", "1.76e12") }),
      b0({ meta: META.replace('"schema_version":1', '"schema_version":1E0') }),
    ];
    for (const body of poison) await inject(bq, QUEUE, body);
    assert.equal((await bq.consume(once)).deadLettered, poison.length);
    assert.equal(calls.length, 0);
    for (const literal of ["-0", "-7"]) await inject(bq, QUEUE, attempts(literal));
    assert.equal((await bq.consume(once)).handled, 2);
    assert.deepEqual(calls.map(([, attempt]) => attempt), [1, 1]);
  });
});

test("V026 an incomplete body is handled with one warning, unless the worker is strict", async () => {
  const body = b0({ trace: "", data: '"data":null', meta: "" });
  let traceId = "";
  let meta: unknown;
  await onBench({}, (_, ctx) => {
    traceId = ctx.traceId;
    meta = ctx.envelope.meta;
    throw new Error("boom");
  }, async ({ bq, transport, seen, calls }) => {
    await inject(bq, QUEUE, body);
    await bq.consume(first);
    assert.deepEqual(calls, [[null, 1]]);
    assert.deepEqual(meta, {});
    assert.match(traceId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{18}/);
    const warnings = seen.of("warning").filter(({ code }) => code === "incomplete_envelope");
    assert.equal(warnings.length, 1);
    for (const member of ["trace_id", "data", "meta"]) {
      assert.ok(warnings[0]!.message.includes(member), member);
    }
    assert.deepEqual(await bodies(transport, QUEUE), [
      body.replace('"attempts":0', '"attempts":1'),
    ]);
  });
  await onBench(
    { strict: true, deadLetter: true },
    done,
    async ({ bq, transport, calls }) => {
      await inject(bq, QUEUE, body);
      await bq.consume(once);
      assert.equal(calls.length, 0);
      const [record] = await bodies(transport, DLQ);
      assert.ok(record!.startsWith(`${body.slice(0, -1)},"dead_letter":{"reason":"poison",`));
    },
  );
});

test("V028 the worker routes on the alias and warns once", async () => {
  const rows: [string, string[]][] = [
    [`"job":7,"urn":"${U}"`, ["job_ignored"]],
    [`"job":" \\r","urn":"${U}"`, []],
    [`"job":"${U}","urn":" "`, ["urn_alias"]],
  ];
  for (const [job, codes] of rows) {
    await onBench({ deadLetter: true }, done, async ({ bq, seen, calls }) => {
      await inject(bq, QUEUE, b0({ job }));
      await bq.consume(once);
      assert.equal(calls.length, 1, job);
      assert.deepEqual(seen.of("warning").map(({ code }) => code), codes, job);
    });
  }
});

test("V029 the worker takes the last occurrence, and types of all of them", async () => {
  await onBench({ deadLetter: true }, done, async ({ bq, calls }) => {
    const front = (member: string): string => B0.replace("{", `{${member},`);
    const poison = [
      front('"attempts":"1"'),
      front('"data":[1]'),
      b0({ job: `"job":"${U}","job":{}` }),
    ];
    for (const body of poison) await inject(bq, QUEUE, body);
    assert.equal((await bq.consume(once)).deadLettered, 3);
    await inject(bq, QUEUE, front('"data":{"a":1}'));
    await inject(bq, QUEUE, b0({ job: `"job":{},"job":"${U}"` }));
    assert.equal((await bq.consume(once)).handled, 2);
    assert.deepEqual(calls, [[{ id: 7, tags: [] }, 1], [{ id: 7, tags: [] }, 1]]);
  });
});

test("V029 a job repeated behind data decides who handles the message", async () => {
  const body = b0({ job: '"job":"urn:babel:shop:other"' }).replace(
    ',"meta"',
    `,"job":"${U}","meta"`,
  );
  await onBench({ deadLetter: true }, done, async ({ bq, calls }) => {
    const others: string[] = [];
    bq.handle("urn:babel:shop:other", (_, ctx) => {
      others.push(ctx.urn);
    });
    await inject(bq, QUEUE, body);
    assert.equal((await bq.consume(once)).handled, 1);
    assert.deepEqual(others, []);
    assert.equal(calls.length, 1);
  });
});

test("V030 overflowing numbers outside data survive a retry", async () => {
  const body = b0({ attempts: '"attempts":0,"x":-2e999' });
  await onBench({}, boom, async ({ bq, transport, calls }) => {
    await inject(bq, QUEUE, body);
    await bq.consume(first);
    assert.equal(calls.length, 1);
    assert.deepEqual(await bodies(transport, QUEUE), [
      body.replace('"attempts":0', '"attempts":1'),
    ]);
  });
});

test("V035 a saturated count is past the cap, a negative one is the first delivery", async () => {
  for (const written of ["9007199254740991", "9007199254740993"]) {
    const body = b0({ attempts: `"attempts":${written}` });
    await onBench({ deadLetter: true }, boom, async ({ bq, transport, calls }) => {
      await inject(bq, QUEUE, body);
      await bq.consume(once);
      assert.equal(calls.length, 1);
      const [record] = await bodies(transport, DLQ);
      assert.equal(record!.split('"attempts":9007199254740991,').length, 3, record);
    });
    await onBench({ deadLetter: false }, boom, async ({ bq }) => {
      await inject(bq, QUEUE, body);
      assert.equal((await bq.consume(once)).dropped, 1);
    });
  }
  await onBench({}, boom, async ({ bq, transport, calls }) => {
    await inject(bq, QUEUE, b0({ attempts: '"attempts":-4' }));
    await bq.consume(first);
    assert.deepEqual(calls.map(([, attempt]) => attempt), [1]);
    assert.deepEqual(await bodies(transport, QUEUE), [b0({ attempts: '"attempts":1' })]);
  });
});

test("V902 a failure goes to the tail counted on, the last one to the dead-letter queue", async () => {
  const other = b0({ job: '"job":"urn:babel:shop:other"' });
  await onBench({ deadLetter: true }, boom, async ({ bq, transport, calls }) => {
    bq.handle("urn:babel:shop:other", done);
    await inject(bq, QUEUE, B0);
    await inject(bq, QUEUE, other);
    await bq.consume(first);
    assert.deepEqual(await bodies(transport, QUEUE), [other, b0({ attempts: '"attempts":1' })]);
    await bq.consume(once);
    assert.deepEqual(calls.map(([, attempt]) => attempt), [1, 2, 3]);
    assert.deepEqual(await bodies(transport, DLQ), [
      `${b0({ attempts: '"attempts":3' }).slice(0, -1)},${
        deadLetterText("failed", 3, "shop", "boom", "Error")
      }}`,
    ]);
  });
});

test("V903 poison without dead-lettering: three deliveries, then dropped and reported", async () => {
  await onBench({}, done, async ({ bq, seen, transport, calls }) => {
    await inject(bq, QUEUE, "not json");
    const counts = await bq.consume(once);
    assert.equal(counts.dropped, 1);
    assert.deepEqual(seen.of("poison").map(({ attempt }) => attempt), [1, 2, 3]);
    assert.deepEqual(seen.of("dropped").map(({ reason }) => reason), ["poison"]);
    assert.equal(calls.length, 0);
    assert.deepEqual(await transport.size(QUEUE), { ready: 0, delayed: 0, inFlight: 0 });
  });
});
