/**
 * Bodies on which two implementations of the contract could differ: members of the wrong type,
 * repeated, escaped or in another case, every spelling of numbers and strings, white space, limits,
 * damage to the bytes.
 *
 * @module
 */

import fc from "fast-check";
import { accepted, canonical, documents } from "../../core/_documents.ts";

const encoder = new TextEncoder();

/** Stands where white space may stand, until it is known which. */
const GAP = "\ue000";

/** Mostly the first, sometimes the second. */
function rarely<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 9): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function objectOf(members: readonly (readonly [name: string, value: string])[]): string {
  const texts = members.map(([name, value]) => `${GAP}"${name}"${GAP}:${GAP}${value}${GAP}`);
  return `{${texts.join(",") || GAP}}`;
}

const PIECES = [
  ..."aU :0\u007f\u0085\u00a0\u00e9\u2028\u3000\ufeff\ufffd",
  "\ud83d\ude00",
  ...["\\n", "\\t", "\\b", "\\f", "\\r", "\\/", '\\"', "\\\\", "\\u0000", "\\u0020", "\\u000b"],
  ...["\\u00e9", "\\u00E9", "\\u2028", "\\ufeff", "\\ud83d\\ude00", "\\uD83D\\uDE00"],
];
const ODD_PIECES = [
  ...["\\ud800", "\\udc80", "\\udfff", "\\ud83d", "\\ude00\\ud83d"],
  ...["\\x", "\\'", "\\u12", "\\u12g4", "\\U0041", "\u0000", "\u001f", "\n", "\t"],
];

const string = fc.oneof(
  fc.constantFrom('"urn:babel:shop:paid"', '"u"', '" padded\\t"', '"caf\u00e9"', '"1"', '"NaN"'),
  fc.constantFrom('""', '" "', '"\\t\\n\\u000b\\f\\r "', '"\\u00a0"', '"\\ufeff"', '"\u3000"'),
  fc.array(rarely(fc.constantFrom(...PIECES), fc.constantFrom(...ODD_PIECES), 60), {
    maxLength: 6,
  }).map((pieces) => `"${pieces.join("")}"`),
);

const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,21})$/);
const builtNumber = fc.tuple(
  fc.constantFrom("", "", "-"),
  digits,
  fc.constantFrom("", "", ".0", ".5", ".000", ".123456789012345678901"),
  fc.constantFrom(
    "",
    "",
    "e0",
    "E2",
    "e+2",
    "e-2",
    "e22",
    "e308",
    "e309",
    "E-324",
    "e-400",
    "e007",
  ),
).map((parts) => parts.join(""));
const integer = fc.oneof(
  fc.constantFrom("0", "1", "-0", "-1", "7", "1760000000123", "-9223372036854775808"),
  fc.constantFrom("9007199254740991", "9007199254740992", "9007199254740993"),
  fc.constantFrom("9223372036854775807", "9223372036854775806", "-9007199254740993"),
);
const notInteger = fc.constantFrom(
  ...["1.0", "1e0", "1E2", "1.5", "-0.0", "1e-400", "1e400", "9223372036854775808"],
  ...["-9223372036854775809", "true", "false", '"1"', '"3"', "[]", "{}", "1" + "0".repeat(320)],
);
const notJson = fc.constantFrom(
  ...["NaN", "Infinity", "-Infinity", "01", "-01", "+1", "1.", ".5", "-", "1e", "1e+", "0x10"],
  ...["1_000", "True", "None", "nul", "undefined", "'a'", "", "\uff11"],
);
const number = rarely(fc.oneof(builtNumber, integer), notJson, 49);

const anyValue: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("null", "true", "false", "0", "1"),
    number,
    string,
    notInteger,
    fc.array(tie("value"), { maxLength: 3 }).map((items) =>
      `[${items.map((item) => `${GAP}${item}${GAP}`).join(",")}]`
    ),
    fc.array(
      fc.tuple(nameIn(["a", "a", "1", "job", "attempts", "meta", "__proto__", ""]), tie("value")),
      {
        maxLength: 3,
      },
    ).map(objectOf),
  ),
})).value;

/** A name as it is, or with escapes; sometimes in another case. */
function nameIn(names: readonly string[]): fc.Arbitrary<string> {
  const name = fc.constantFrom(...names);
  const escaped = fc.tuple(name, fc.nat()).map(([text, place]) => {
    const at = place % (text.length || 1);
    const code = text.charCodeAt(at) || 0x61;
    return `${text.slice(0, at)}\\u${code.toString(16).padStart(4, "0")}${text.slice(at + 1)}`;
  });
  const cased = fc.tuple(name, fc.boolean()).map(([text, whole]) =>
    whole ? text.toUpperCase() : text.slice(0, 1).toUpperCase() + text.slice(1)
  );
  return rarely(name, fc.oneof(escaped, cased));
}

type Shape = Readonly<Record<string, fc.Arbitrary<string>>>;

const text = rarely(string, fc.oneof(anyValue, fc.constant("null")), 24);
const count = rarely(integer, fc.oneof(notInteger, fc.constant("null")), 24);
const META: Shape = {
  id: text,
  queue: text,
  lang: text,
  schema_version: rarely(
    fc.constant("1"),
    fc.oneof(fc.constantFrom("2", "0", "-1", "1.0", "1e0", "true", "null", '"1"'), notInteger),
  ),
  created_at: count,
  ext: anyValue,
};
const FORBIDDEN: Shape = {
  max_retries: anyValue,
  attempts: anyValue,
  source: anyValue,
  ts: anyValue,
};
const DEAD_LETTER: Shape = {
  reason: text,
  error: text,
  exception: text,
  failed_at: count,
  original_queue: text,
  attempts: count,
  lang: text,
};

/** An object of a shape: members left out, repeated, out of order, with odd names. */
function shaped(shape: Shape, more: Shape = {}): fc.Arbitrary<string> {
  const member = (name: string, value: fc.Arbitrary<string>) =>
    fc.tuple(nameIn([name]), value) as fc.Arbitrary<[string, string]>;
  const own = Object.entries(shape).map(([name, value]) =>
    fc.option(member(name, value), { freq: 15 })
  );
  const seldom = Object.entries(more).map(([name, value]) =>
    rarely(fc.constant(null), member(name, value), 5)
  );
  const extra = fc.oneof(
    ...Object.entries({ ...shape, ...more }).map(([name, value]) => member(name, value)),
    fc.tuple(nameIn([...Object.keys(shape), "x", "__proto__"]), anyValue),
  );
  return fc.tuple(
    fc.tuple(...own, ...seldom),
    rarely(fc.array(extra, { maxLength: 0 }), fc.array(extra, { minLength: 1, maxLength: 3 }), 2),
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat() }),
  ).map(([usual, extras, seed]) => {
    const members = [...usual.filter((entry) => entry !== null), ...extras];
    if (seed !== null) {
      for (let at = members.length - 1, left = seed; at > 0; at--, left = left * 31 + 7 >>> 0) {
        members.splice(left % (at + 1), 0, ...members.splice(at, 1));
      }
    }
    return objectOf(members);
  });
}

const envelope = shaped({
  job: rarely(string, anyValue, 14),
  trace_id: text,
  data: rarely(
    fc.array(fc.tuple(nameIn(["a", "b", "b", "urn"]), anyValue), { maxLength: 3 }).map(objectOf),
    anyValue,
    19,
  ),
  meta: rarely(shaped(META, FORBIDDEN), anyValue, 24),
  attempts: count,
}, {
  urn: rarely(string, anyValue, 4),
  dead_letter: rarely(shaped(DEAD_LETTER), anyValue, 9),
  timestamp: anyValue,
  max_retries: anyValue,
});

const gaps = fc.oneof(
  { weight: 12, arbitrary: fc.constant([""]) },
  {
    weight: 3,
    arbitrary: fc.array(fc.constantFrom("", " ", "\n", "\t", "\r\n "), { minLength: 1 }),
  },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom("", "\f", "\v", "\u00a0", "\ufeff", "\u2028", "/**/"), {
      minLength: 9,
      maxLength: 30,
    }),
  },
);

function spaced(arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(arbitrary, gaps).map(([body, spaces]) => {
    let at = 0;
    return body.replaceAll(GAP, () => spaces[at++ % spaces.length] ?? "");
  });
}

/** Values near the limits of depth and of digits, in every place where they count or do not. */
const extreme = fc.tuple(
  fc.oneof(
    fc.tuple(fc.integer({ min: 890, max: 1010 }), fc.constantFrom("[]", '{"a":}')).map(
      ([depth, pair]) => pair.slice(0, -1).repeat(depth) + "0" + pair.slice(-1).repeat(depth),
    ),
    fc.tuple(
      fc.oneof(fc.integer({ min: 300, max: 320 }), fc.integer({ min: 4290, max: 4310 })),
      fc.constantFrom("1", "-1", "9", "0.1"),
      fc.constantFrom("", ".5", "e-300", "e5"),
    ).map(([length, start, end]) => start + "7".repeat(length - 1) + end),
  ),
  fc.constantFrom("data", "inner", "unknown", "meta", "attempts", "job", "root"),
).map(([value, place]) => {
  switch (place) {
    case "data":
      return canonical(`{"a":${value}}`);
    case "inner":
      return canonical(`{"a":[{"b":${value}}]}`);
    case "unknown":
      return `{"job":"u","x":${value},"attempts":4}`;
    case "meta":
      return `{"urn":"u","meta":{"ext":${value}},"attempts":4}`;
    case "attempts":
      return canonical("{}", value);
    case "job":
      return `{"job":${value},"urn":"u"}`;
    default:
      return value;
  }
});

const VALUES = [
  ...[
    '"u"',
    '""',
    '" "',
    '"1"',
    "{}",
    "[]",
    "[1]",
    "null",
    "true",
    "false",
    "0",
    "1",
    "-0",
    "-1",
    "2",
  ],
  ...["1.0", "1e0", "1E2", "1.5", "1e-400", "1e400", "01", "NaN", "9007199254740993"],
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
];

/** Every member of the contract with every kind of value: alone, and before and after a null. */
export function everyMember(): Uint8Array[] {
  const found: string[] = [];
  const root = ["job", "urn", "trace_id", "data", "meta", "attempts", "dead_letter", "timestamp"];
  for (const value of VALUES) {
    const members = (names: readonly string[]): string[] =>
      names.flatMap((name) => [
        `"${name}":${value}`,
        `"${name}":${value},"${name}":null`,
        `"${name}":null,"${name}":${value}`,
      ]);
    for (const member of members(root)) {
      found.push(`{"job":"u",${member}}`, `{"urn":"u",${member}}`);
    }
    for (
      const [outer, shape] of [["meta", { ...META, ...FORBIDDEN }], ["dead_letter", DEAD_LETTER]]
    ) {
      for (const member of members(Object.keys(shape as Shape))) {
        found.push(`{"job":"u","${outer}":{${member}}}`, `{"urn":"u","${outer}":{${member}}}`);
        found.push(`{"job":"u","${outer}":{${member}},"${outer}":null}`);
      }
    }
  }
  return found.map((text) => encoder.encode(text));
}

/** Any text that could be a body. */
const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: spaced(envelope) },
  { weight: 2, arbitrary: documents },
  { weight: 2, arbitrary: accepted.map(({ body }) => body) },
  { weight: 1, arbitrary: spaced(anyValue) },
);

const INSERTED: readonly (readonly number[])[] = [
  ...[[0xff], [0x80], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]],
  ...[[0xe2, 0x98], [0xef, 0xbb, 0xbf], [0xc2, 0xa0], [0x00], [0x20], [0x0a], [0x22], [0x5c]],
  ...[[0x2c], [0x3a], [0x7b], [0x7d], [0x5b], [0x5d], [0x30], [0x2d], [0x2e], [0x65]],
];

/** One kind of damage, at a place that is given as any number. */
const damages = fc.constantFrom<(body: Uint8Array, at: number, pick: number) => Uint8Array>(
  (body, at) => body.slice(0, at),
  (body, at) => Uint8Array.of(...body.subarray(0, at), ...body.subarray(at + 1)),
  (body, at, pick) => body.map((byte, place) => place === at ? byte ^ (1 << (pick % 8)) : byte),
  (body, at, pick) =>
    Uint8Array.of(
      ...body.subarray(0, at),
      ...(INSERTED[pick % INSERTED.length] ?? []),
      ...body.subarray(at),
    ),
  (body) => Uint8Array.of(0xef, 0xbb, 0xbf, ...body),
  (body, _, pick) => Uint8Array.of(...body, ...(INSERTED[pick % INSERTED.length] ?? [])),
  (body) => Uint8Array.of(...body, ...body),
  (body) => Uint8Array.of(0xff, 0xfe, ...[...body].flatMap((byte) => [byte, 0])),
);

const damaged: fc.Arbitrary<Uint8Array> = fc.tuple(texts, damages, fc.nat(), fc.nat()).map(
  ([body, damage, place, pick]) => {
    const bytes = encoder.encode(body);
    return damage(bytes, place % (bytes.length + 1), pick);
  },
);

/** Any body. */
export const bodies: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 30, arbitrary: texts.map((body) => encoder.encode(body)) },
  { weight: 8, arbitrary: damaged },
  { weight: 1, arbitrary: extreme.map((body) => encoder.encode(body)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 24 }) },
);
