/** Worked cases on the poison record, and on who gets one. */

import assert from "node:assert/strict";
import { identityVerdict } from "../../core/identity.ts";
import { reemit } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { bytes, POLICIES, text } from "./_decisions.ts";
import { B0, b0, decideOn, poisonDeadLetter, poisonText, recordOf, TP } from "./_vectors.ts";

const DL = poisonDeadLetter();
const POISON = { kind: "poison", cause: "CAUSE" } as const;

/** The text of a wrapper. */
const wrapped = (raw: string): string => `{"raw":${JSON.stringify(raw)},${DL}}`;

test("V008 an object gets the member", () => {
  assert.equal(poisonText('{"x":1}'), `{"x":1,${DL}}`);
});

test("V009 so does an empty object", () => {
  assert.equal(poisonText("{}"), `{${DL}}`);
});

test("V010 text is wrapped", () => {
  assert.equal(poisonText("not json"), wrapped("not json"));
});

test("V012 a list is wrapped", () => {
  assert.equal(poisonText("[1,2]"), wrapped("[1,2]"));
});

test("V013 bytes that are no UTF-8 are wrapped in base64, also inside an object", () => {
  const body = new Uint8Array([...bytes('{"a":"'), 0xff, ...bytes('","attempts":0}')]);
  const raw = "eyJhIjoi/yIsImF0dGVtcHRzIjowfQ==";
  assert.equal(poisonText(body), `{"raw":"${raw}","raw_encoding":"base64",${DL}}`);
});

test("V014 digits are kept", () => {
  assert.equal(
    poisonText('{"n":12345678901234567890}'),
    `{"n":12345678901234567890,${DL}}`,
  );
});

test("V032 an object that has the member already is wrapped, however its name is spelled", () => {
  for (const body of ['{"x":1,"dead_letter":{}}', '{"x":1,"dead\\u005fletter":{}}']) {
    assert.equal(poisonText(body), wrapped(body));
  }
});

test("V034 spacing inside and repeated members are kept, white space around goes", () => {
  assert.equal(poisonText(' \t{"x" : 1, "x":2}\n'), `{"x" : 1, "x":2,${DL}}`);
  assert.equal(poisonText("{ }"), `{${DL}}`);
});

test("V116 both Redis layouts write a record in every configuration", () => {
  for (const broker of ["redis legacy", "redis zset"]) {
    for (
      const set of [
        { deadLetter: true },
        { onUnknownUrn: "delete" },
        { onUnknownUrn: "release" },
        { deadLetter: false },
        { deadLetterQueue: null },
        { onUnknownUrn: "dead_letter", deadLetterQueue: null },
      ] as const
    ) {
      const record = recordOf(decideOn(broker, POISON, set, { body: "not json" }));
      assert.deepEqual(record, { queue: "shop.dlq", reason: "poison", text: wrapped("not json") });
    }
  }
});

test("V117 an empty element is a message, and poison", () => {
  assert.equal(identityVerdict("").verdict, "poison");
  assert.equal(poisonText(""), wrapped(""));
});

test("V118 a body without identity is poison, its record made from the raw body", () => {
  assert.equal(identityVerdict('{"x":1,"attempts":0}').verdict, "no_identity");
  assert.equal(poisonText('{"x":1,"attempts":0}'), `{"x":1,"attempts":0,${DL}}`);
});

test("V120 only the zset layout calls a body without attempts poison", () => {
  const strict = Object.keys(POLICIES).filter((name) =>
    POLICIES[name]!.missingAttempts === "poison"
  );
  assert.deepEqual(strict, ["redis zset"]);
  for (const attempts of ["true", '"abc"', "[1]"]) {
    const body = b0({ attempts: `"attempts":${attempts}` });
    assert.equal(identityVerdict(body).verdict, "poison", attempts);
  }
});

test("V121 an overflowing number in data is poison, and the record keeps it", () => {
  const body = b0({ data: '"data":{"n":1e400}' });
  assert.equal(identityVerdict(body).verdict, "poison");
  assert.equal(poisonText(body), `${body.slice(0, -1)},${DL}}`);
});

test("V122 a hexadecimal number is no JSON: poison, wrapped as text", () => {
  assert.equal(identityVerdict('{"attempts":0x10}').verdict, "poison");
  assert.equal(poisonText('{"attempts":0x10}'), wrapped('{"attempts":0x10}'));
});

test("V124 a thousand levels pass the core, one more does not", () => {
  const nested = (levels: number): string => {
    const lists = levels - 2;
    return b0({ data: `"data":{"a":${"[".repeat(lists)}${"]".repeat(lists)}}` });
  };
  assert.equal(identityVerdict(nested(1000)).verdict, "ok");
  assert.equal(identityVerdict(nested(1001)).verdict, "poison");
});

test("V125 attempts in cjson's exponent form are poison by the literal", () => {
  assert.equal(identityVerdict(b0({ attempts: '"attempts":1e+17' })).verdict, "poison");
});

test("V126 a frame is no envelope", () => {
  const frame = JSON.stringify({ __bq_frame: 1, headers: { traceparent: TP }, body: B0 });
  assert.equal(frame.length, 388);
  assert.equal(identityVerdict(frame).verdict, "no_identity");
});

test("V128 a retry copy keeps all digits of a long number", () => {
  const body = b0({ data: '"data":{"n":123456789012345}' });
  const copy = text(reemit(bytes(body), { attempts: 1 }));
  assert.equal(copy, body.replace('"attempts":0', '"attempts":1'));
});

test("V218 the legacy layout writes the identity-less body's record too", () => {
  const set = { onUnknownUrn: "delete" } as const;
  const record = recordOf(decideOn("redis legacy", POISON, set, { body: '{"x":1}' }));
  assert.equal(record.text, `{"x":1,${DL}}`);
});

test("V306 RabbitMQ, dead-lettering off: the bytes again, counted beside them, then dropped", () => {
  const seen = [0, 1, 2].map((reconciled) =>
    decideOn("rabbitmq", POISON, {}, { body: "not json", reconciled })
  );
  assert.deepEqual(
    seen.map((verdict) =>
      verdict.kind === "retry" ? [verdict.attempts, text(verdict.body)] : verdict.kind
    ),
    [[1, "not json"], [2, "not json"], "ack"],
  );
});

test("V417 SQS: strategy dead_letter with the queue opted out leaves poison alone", () => {
  const set = { onUnknownUrn: "dead_letter", deadLetterQueue: null } as const;
  assert.equal(decideOn("sqs", POISON, set).kind, "leave");
});

test("V509 Service Bus, dead-lettering off: natively dead-lettered", () => {
  assert.equal(decideOn("service bus", POISON).kind, "deadLetterNatively");
});

test("V609 Pulsar: a record at once, or copies up to the cap, or acknowledged", () => {
  const on = recordOf(
    decideOn("pulsar shared", POISON, { deadLetter: true }, { body: "not json" }),
  );
  assert.equal(on.text, wrapped("not json"));
  const off = [0, 1, 2].map((reconciled) => decideOn("pulsar shared", POISON, {}, { reconciled }));
  assert.deepEqual(
    off.map((verdict) => verdict.kind === "retry" ? verdict.attempts : verdict.kind),
    [1, 2, "ack"],
  );
  assert.equal(decideOn("pulsar shared", POISON, { onUnknownUrn: "delete" }).kind, "ack");
});

test("V714 Kafka: record, committed, on a tier, or committed where there is no tier", () => {
  const on = recordOf(decideOn("kafka", POISON, { deadLetter: true }, { body: '{"x":1}' }));
  assert.deepEqual([on.queue, on.text], ["shop.dlq", `{"x":1,${DL}}`]);
  assert.equal(decideOn("kafka", POISON, { onUnknownUrn: "delete" }).kind, "ack");
  const tier = decideOn("kafka", POISON, {}, { body: '{"x":1}' });
  assert.ok(tier.kind === "retry");
  assert.deepEqual([text(tier.body), tier.attempts], ['{"x":1}', 1]);
  assert.equal(decideOn("kafka without tiers", POISON).kind, "ack");
});
