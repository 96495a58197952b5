/** One kind of body, a new one on each call, so that no engine answers from its cache. */
export interface Sample {
  text(): string;
  bytes(): Uint8Array;
  data(): object;
}

/** The kinds of bodies, by what is special about them. */
export const SIZES: readonly string[] = [
  "0.3 KB",
  "2 KB",
  "2 KB unicode",
  "2 KB with nulls",
  "2 KB with meta.ext",
  "64 KB",
  "64 KB containers",
];

const COPIES = 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function envelopeOf(data: object, meta: object): object {
  return {
    job: "urn:babel:orders:created",
    trace_id: crypto.randomUUID(),
    data,
    meta: {
      id: crypto.randomUUID(),
      queue: "orders",
      lang: "node",
      schema_version: 1,
      created_at: 1749132727000,
      ...meta,
    },
    attempts: 0,
  };
}

function itemOf(index: number, size: string): object {
  const title = size === "2 KB unicode"
    ? "Caf\u00e9 \u2014 na\u00efve \u2615 \u0130stanbul \u6771\u4eac"
    : "A plain title of some length";
  return {
    sku: `A-${1000 + index}`,
    title: `${title} ${index}`,
    quantity: index % 7,
    price_cents: 1299 + index * 13,
    ratio: 0.125 * index,
    active: index % 2 === 0,
    note: size === "2 KB with nulls" ? null : "none",
  };
}

function dataOf(size: string): object {
  if (size === "0.3 KB") {
    return { order_id: 1042, customer: "c-77", total_cents: 12990, paid: true };
  }
  const items: unknown[] = [];
  const limit = size.startsWith("64") ? 65_536 : 2_048;
  const data = { order_id: 1042, items };
  const isMany = size === "64 KB containers";
  for (let index = 0, length = 280; length < limit; index++) {
    const item = isMany ? { a: [index], b: {} } : itemOf(index, size);
    length += encoder.encode(JSON.stringify(item)).length + 1;
    if (length < limit) items.push(item);
  }
  return data;
}

/** Makes the bodies of a kind. */
export function bodiesOf(size: string): Sample {
  const meta = size === "2 KB with meta.ext" ? { ext: { acme: { tenant: 7 } } } : {};
  const all = Array.from({ length: COPIES }, () => {
    const bytes = encoder.encode(JSON.stringify(envelopeOf(dataOf(size), meta)));
    const text = decoder.decode(bytes);
    return { bytes, text, data: (JSON.parse(text) as { data: object }).data };
  });
  let next = 0;
  const one = (): (typeof all)[number] => {
    next = (next + 1) % COPIES;
    return all[next] as (typeof all)[number];
  };
  return { text: () => one().text, bytes: () => one().bytes, data: () => one().data };
}

/** Bodies that punish recursion, backtracking and copying. */
export function hostileBodies(): readonly (readonly [string, (size: number) => string])[] {
  const canonical = (data: string): string =>
    JSON.stringify(envelopeOf({}, {})).replace('"data":{}', () => `"data":${data}`);
  return [
    ["[[[…", (size) => "[".repeat(size)],
    ["[[[… in data", (size) => canonical(`{"a":${"[".repeat(size)}}`)],
    ['"\\\\\\\\… without an end', (size) => `{"job":"${"\\".repeat(size)}`],
    ['"\\\\\\\\… in data', (size) => canonical(`{"a":"${"\\".repeat(size - (size % 2))}"}`)],
    ["members", (size) => `{"job":"u"${',"a":0'.repeat(size / 6)}}`],
    ["members, each another", (size) => {
      const members = Array.from({ length: size / 12 }, (_, index) => `"m${index}":0`);
      return `{"job":"u",${members.join(",")}}`;
    }],
    ["urn members", (size) => `{"urn":"u"${',"urn":"u"'.repeat(size / 10)}}`],
    ["one number in data", (size) => canonical(`{"n":${"1".repeat(size)}}`)],
    ["one number elsewhere", (size) => `{"job":"u","n":${"1".repeat(size)}}`],
    ["white space", (size) => `${" ".repeat(size)}{`],
  ];
}
