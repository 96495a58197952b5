/**
 * Bodies that try to mislead a reader: look-alikes inside `data`, repeated members, escaped names,
 * odd values, white space, other orders.
 *
 * @module
 */

import fc from "fast-check";

/** A canonical body. */
export function canonical(data = '{"id":7,"tags":[]}', attempts = "0"): string {
  return `{"job":"urn:babel:shop:paid","trace_id":"11111111-2222-4333-8444-555555555555",` +
    `"data":${data},"meta":{"id":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","queue":"shop",` +
    `"lang":"go","schema_version":1,"created_at":1760000000123},"attempts":${attempts}}`;
}

const NAMES = [
  "job",
  "urn",
  "trace_id",
  "data",
  "meta",
  "attempts",
  "dead_letter",
  "timestamp",
  "JOB",
  "Meta",
  "x",
  "",
  "__proto__",
  "constructor",
  "j\\u006fb",
  "d\\u0061ta",
  "\\u006deta",
  "dead\\u005fletter",
  'x\\"job',
];

const META_NAMES = [
  "id",
  "queue",
  "lang",
  "schema_version",
  "created_at",
  "ts",
  "source",
  "attempts",
  "max_retries",
  "ext",
  "ID",
  "i\\u0064",
  "t\\u0073",
];

const SCALARS = [
  '"urn:babel:shop:paid"',
  '"u"',
  '""',
  '" \\t\\r"',
  '"\\u000b\\f"',
  '"\\u00a0"',
  '" padded "',
  '"a\\\\"',
  '"a\\"b"',
  '"\\\\\\""',
  '"\\ud800"',
  '"caf\u00e9 \u2615 \ud83d\ude00"',
  '"},\\"meta\\":{\\"id\\":\\""',
  '",\\"attempts\\":0}"',
  '"1e400"',
  '"12345678901234567890"',
  "0",
  "-0",
  "1",
  "2",
  "-4",
  "3.0",
  "1E2",
  "1e400",
  "-1e+400",
  "1E0400",
  "1e-400",
  "1e308",
  "123456789012345678",
  "9007199254740991",
  "9007199254740993",
  "-9007199254740992",
  "1760000000123456",
  "0.30000000000000004",
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854775808",
  "1" + "0".repeat(320),
  "1" + "0".repeat(250) + "e99",
  "null",
  "true",
  "false",
  "[]",
  "{}",
  "[1]",
  canonical(),
];

const space = fc.constantFrom("", "", "", "", " ", "\n", "\t\r\n ");
const scalar = fc.constantFrom(...SCALARS);

function object(
  names: readonly string[],
  value: fc.Arbitrary<string>,
  maxLength: number,
): fc.Arbitrary<string> {
  const member = fc.tuple(space, fc.constantFrom(...names), space, space, value, space)
    .map(([a, name, b, c, inner, d]) => `${a}"${name}"${b}:${c}${inner}${d}`);
  return fc.array(member, { maxLength }).map((members) => `{${members.join(",")}}`);
}

const inner = fc.oneof(
  scalar,
  scalar,
  object(META_NAMES, scalar, 5),
  object(NAMES, scalar, 3),
  fc.array(scalar, { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
);

/** Any object. */
export const anyObject: fc.Arbitrary<string> = fc.tuple(space, object(NAMES, inner, 8), space)
  .map((parts) => parts.join(""));

/** A canonical body with something between `data` and `meta`, or something odd as `data`. */
export const disguised: fc.Arbitrary<string> = fc.tuple(
  fc.oneof(object(NAMES, inner, 4), scalar),
  fc.array(fc.tuple(fc.constantFrom(...NAMES), inner), { maxLength: 2 }),
  fc.constantFrom("0", "1", "-3", "1.0", "12345678901234567", '"1"', "null"),
).map(([data, hidden, attempts]) =>
  canonical(data + hidden.map(([name, value]) => `,"${name}":${value}`).join(""), attempts)
);

/** A body that is usually no JSON: cut off, or with one byte changed. */
export const damaged: fc.Arbitrary<string> = fc.tuple(
  fc.oneof(disguised, anyObject),
  fc.nat(),
  fc.constantFrom("", "{", "}", '"', "\\", ",", ":", "[", "0", "\u0001", " ", "e"),
  fc.boolean(),
).map(([text, place, put, cut]) => {
  const at = place % (text.length + 1);
  return text.slice(0, at) + put + (cut ? "" : text.slice(at + 1));
});

/** Any of them. */
export const documents: fc.Arbitrary<string> = fc.oneof(anyObject, disguised, disguised, damaged);

/** A compact body that is accepted, its members in any order, with odd literals wherever they may stand. */
export const accepted: fc.Arbitrary<{ readonly body: string; readonly attempts: number }> = fc
  .tuple(fc.nat({ max: 1000 }), scalar, scalar, scalar, fc.constantFrom("1e-400", "1.0", "-0", "7"))
  .chain(([attempts, unknown, extension, label, number]) => {
    const text = JSON.stringify(label);
    const members = [
      '"job":"urn:babel:shop:paid"',
      `"trace_id":${text}`,
      `"data":{"2":${text},"1":[${number}],"a":{},"a":[{"b":${text}}]}`,
      `"meta":{"id":${text},"schema_version":1,"ext":${extension},"lang":null}`,
      `"attempts":${attempts}`,
      `"x":${unknown}`,
      `"x":[${unknown},{"y":${extension}}]`,
    ];
    return fc.shuffledSubarray(members, { minLength: members.length })
      .map((shuffled) => ({ body: `{${shuffled.join(",")}}`, attempts }));
  });
