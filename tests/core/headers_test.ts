import assert from "node:assert/strict";
import {
  bypassExternalEffects,
  HEADER_REPLAY_BYPASS,
  HEADER_TRACEPARENT,
  HEADER_TRACESTATE,
  isReplay,
  mergeHeaders,
  sanitizeHeaders,
} from "../../core/headers.ts";
import { test } from "../harness.ts";

const TP = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** A map without a prototype. */
function bare(entries: Record<string, string>): Record<string, string> {
  return Object.assign(Object.create(null), entries);
}

test("the names of the riders are those of the other SDKs", () => {
  assert.deepEqual(
    [HEADER_REPLAY_BYPASS, HEADER_TRACEPARENT, HEADER_TRACESTATE],
    ["bq-replay-bypass", "traceparent", "tracestate"],
  );
});

test("sanitizeHeaders() drops empty names and values and writes the rest as text", () => {
  const headers = {
    "": "x",
    a: "",
    b: null,
    c: undefined,
    d: 7,
    e: false,
    f: " ",
    g: 12n,
    h: Object.create(null) as unknown,
    traceparent: TP,
  };
  const clean = sanitizeHeaders(headers);
  assert.deepEqual(clean, bare({ d: "7", e: "false", f: " ", g: "12", traceparent: TP }));
  assert.equal(headers.d, 7);
});

test("sanitizeHeaders() gives an empty map for none, and never one with a prototype", () => {
  for (const none of [null, undefined, {}, { a: "" }]) {
    const clean = sanitizeHeaders(none);
    assert.equal(Object.getPrototypeOf(clean), null);
    assert.deepEqual(Object.keys(clean), []);
  }
});

test("sanitizeHeaders() takes __proto__ for a name like any other", () => {
  const clean = sanitizeHeaders(JSON.parse('{"__proto__":"x","constructor":"y"}'));
  assert.deepEqual(Object.keys(clean), ["__proto__", "constructor"]);
  assert.equal(clean["toString"], undefined);
});

test("mergeHeaders() lets a contract slot win over a rider", () => {
  const riders = { "": "x", a: "", traceparent: TP, "bq-job": "evil" };
  const merged = mergeHeaders(riders, bare({ "bq-job": "urn:babel:shop:paid" }));
  assert.deepEqual(merged, bare({ traceparent: TP, "bq-job": "urn:babel:shop:paid" }));
  assert.equal(riders["bq-job"], "evil");
  assert.deepEqual(mergeHeaders({ a: "" }, bare({ k: "v" })), mergeHeaders(null, bare({ k: "v" })));
});

test("isReplay() takes any value but an empty one", () => {
  for (const value of ["1", "0", "false", " "]) assert(isReplay({ "bq-replay-bypass": value }));
  assert(!isReplay({ "bq-replay-bypass": "" }));
  assert(!isReplay({ "BQ-Replay-Bypass": "1" }));
  assert(!isReplay({}));
  assert(!isReplay(null));
  assert(!isReplay(undefined));
  assert(!isReplay(Object.create({ "bq-replay-bypass": "1" })));
});

test("bypassExternalEffects() runs the effect, or skips it on a replay and tells", async () => {
  let ran = 0;
  let skipped = 0;
  const effect = (): number => ++ran;
  const options = { onBypass: (): void => void skipped++ };
  assert.equal(await bypassExternalEffects({}, effect, options), 1);
  assert.equal(await bypassExternalEffects(null, () => Promise.resolve(effect())), 2);
  assert.equal(
    await bypassExternalEffects({ "bq-replay-bypass": "0" }, effect, options),
    undefined,
  );
  assert.deepEqual([ran, skipped], [2, 1]);
});

test("bypassExternalEffects() passes on what the effect throws", async () => {
  await assert.rejects(
    bypassExternalEffects({}, () => {
      throw new TypeError("no mail");
    }),
    { name: "TypeError", message: "no mail" },
  );
});
