/**
 * Measures the codec against what a user would write with `JSON.parse` and `JSON.stringify`, in the
 * same run. Only the ratios mean something; allow a tenth for noise.
 *
 * Run `deno bench bench/codec.bench.ts`, `bun bench/codec.bench.ts` or `node bench/codec.bench.ts`.
 *
 * @module
 */

import { EncodeMemo, encodeNew, encodeNewText } from "../core/encode.ts";
import { deadLetterBlock } from "../core/dead_letter.ts";
import { poisonBlock, poisonRecord } from "../core/poison.ts";
import { readEnvelope } from "../core/reading.ts";
import { reemit, reemitText } from "../core/splice.ts";
import { bodiesOf, hostileBodies, type Sample, SIZES } from "./_bodies.ts";
import { type Goal, ratio, report, runtime, timeOnce } from "./_measure.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const URN = "urn:babel:orders:created";

const POISON = poisonBlock({ cause: "x", originalQueue: "orders", attempts: 0, failedAtMs: 1 });
const FAILED = deadLetterBlock({
  reason: "failed",
  error: new Error("no stock"),
  originalQueue: "orders",
  attempts: 3,
  failedAtMs: 1,
});

interface Parsed {
  job?: unknown;
  trace_id?: unknown;
  data?: unknown;
  meta?: { schema_version?: unknown };
  attempts?: unknown;
}

/** What is written without a library: parse, then look at the members. */
function parseThenCheck(text: string): unknown {
  const body = JSON.parse(text) as Parsed | null;
  if (typeof body !== "object" || body === null) return null;
  if (typeof body.job !== "string" || body.job.trim() === "") return null;
  if (typeof body.trace_id !== "string" || body.trace_id.trim() === "") return null;
  if (typeof body.meta !== "object" || body.meta?.schema_version !== 1) return null;
  if (typeof body.data !== "object" || body.data === null) return null;
  return Number.isInteger(body.attempts) ? body.data : null;
}

function stringifyNew(data: object): string {
  return JSON.stringify({
    job: URN,
    trace_id: crypto.randomUUID(),
    data,
    meta: {
      id: crypto.randomUUID(),
      queue: "orders",
      lang: "node",
      schema_version: 1,
      created_at: Date.now(),
    },
    attempts: 0,
  });
}

function countUp(text: string): string {
  const body = JSON.parse(text) as { attempts: number };
  body.attempts++;
  return JSON.stringify(body);
}

function routed(body: string | Uint8Array): unknown {
  const reading = readEnvelope(body);
  return reading.attempts !== null && reading.urn + reading.messageId;
}

function accepted(body: string | Uint8Array): unknown {
  const verdict = readEnvelope(body).verdict();
  return verdict.verdict === "ok" && verdict.versionSupported && verdict.missing.length === 0
    ? verdict.data
    : null;
}

const onBun = runtime === "bun";

/** The goals, by size of the body. */
const GOALS: Record<string, Partial<Record<string, Goal>>> = {
  decode: {
    "2 KB": onBun ? 0.8 : 0.9,
    "2 KB unicode": onBun ? 0.8 : 0.9,
    "64 KB": onBun ? 0.8 : 0.9,
    "64 KB containers": 0.5,
  },
  check: { "0.3 KB": onBun ? 1 : 1.3 },
  route: {
    "0.3 KB": onBun ? 0.9 : 2.3,
    "2 KB": onBun ? 8 : 15,
    "2 KB unicode": onBun ? 8 : 15,
    "64 KB": 400,
  },
  reemit: { "0.3 KB": onBun ? 1.5 : 3.5, "2 KB": 15, "2 KB unicode": 15, "64 KB": 400 },
  bytes: { "0.3 KB": 5, "2 KB": 12, "2 KB unicode": 12, "64 KB": 20 },
  encode: { "0.3 KB": 2, "2 KB": 0.95, "2 KB unicode": 0.95, "64 KB": 0.95 },
};

function compare(name: string, size: string, goal: Goal, base: () => unknown, own: () => unknown) {
  report(name, size, ratio(base, own), goal);
}

function measure(size: string, { text, bytes, data }: Sample): void {
  const parse = (): unknown => JSON.parse(text());
  const parseBytes = (): unknown => JSON.parse(decoder.decode(bytes()));
  const goal = (kind: string): Goal => GOALS[kind]?.[size];
  compare(
    "decode + accept, text / JSON.parse",
    size,
    goal("decode"),
    parse,
    () => accepted(text()),
  );
  compare(
    "decode + accept, bytes / TextDecoder, JSON.parse",
    size,
    goal("decode"),
    parseBytes,
    () => accepted(bytes()),
  );
  compare(
    "decode + accept, text / parse, then check",
    size,
    goal("check"),
    () => parseThenCheck(text()),
    () => accepted(text()),
  );
  compare(
    "decode + accept, bytes / decode, parse, then check",
    size,
    goal("check"),
    () => parseThenCheck(decoder.decode(bytes())),
    () => accepted(bytes()),
  );
  compare("route, text / JSON.parse", size, goal("route"), parse, () => routed(text()));
  compare(
    "route, bytes / TextDecoder, JSON.parse",
    size,
    undefined,
    parseBytes,
    () => routed(bytes()),
  );
  compare(
    "re-emit + 1, text / parse, change, stringify",
    size,
    goal("reemit"),
    () => countUp(text()),
    () => {
      const body = text();
      const attempts = (readEnvelope(body).attempts ?? 0) + 1;
      return reemitText(body, { attempts, canonical: true });
    },
  );
  const countUpBytes = (): unknown => encoder.encode(countUp(decoder.decode(bytes())));
  compare(
    "re-emit + 1, bytes / decode to encode",
    size,
    goal("bytes"),
    countUpBytes,
    () => reemit(bytes(), { attempts: 1, canonical: true }),
  );
  compare(
    "re-emit + 1, bytes, nothing known / the same",
    size,
    undefined,
    countUpBytes,
    () => reemit(bytes(), { attempts: 1 }),
  );
  compare(
    "dead letter, bytes / the same",
    size,
    undefined,
    countUpBytes,
    () => reemit(bytes(), { attempts: 3, deadLetter: FAILED, canonical: true }),
  );
  compare(
    "poison record / the same",
    size,
    undefined,
    countUpBytes,
    () => poisonRecord(bytes(), POISON),
  );
  const memo = new EncodeMemo(); // a publisher has one
  compare(
    "make + encode, text / object, stringify",
    size,
    goal("encode"),
    () => stringifyNew(data()),
    () => encodeNewText(URN, data(), { queue: "orders", nowMs: Date.now(), memo }).text,
  );
  compare(
    "make + encode, bytes / the same, TextEncoder",
    size,
    undefined,
    () => encoder.encode(stringifyNew(data())),
    () => encodeNew(URN, data(), { queue: "orders", nowMs: Date.now(), memo }).body,
  );
}

console.log(`codec on ${runtime}: how many times as fast as the other way\n`);
for (const size of SIZES) measure(size, bodiesOf(size));

const MEGABYTES = [1, 2, 4, 10];
// Ten times the body may take this many times as long; squared it would be a hundred times.
const LINEAR = 40;

console.log("\nhostile bodies, verdict and poison record: ms at 1, 2, 4 and 10 MB\n");
for (const [name, make] of hostileBodies()) {
  const times = MEGABYTES.map((megabytes) => {
    const body = encoder.encode(make(megabytes * 1_000_000));
    return timeOnce(() => {
      readEnvelope(body).verdict();
      poisonRecord(body, POISON);
    });
  });
  const growth = (times.at(-1) ?? 0) / Math.max(times[0] ?? 0, 0.1);
  const cells = times.map((ms) => ms.toFixed(1).padStart(9)).join("");
  const verdict = growth <= LINEAR ? "pass" : "FALLS SHORT";
  console.log(`${name.padEnd(34)}${cells}   x ${growth.toFixed(0)} ${verdict} (${LINEAR})`);
}
