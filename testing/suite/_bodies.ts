/** URN of the messages that the suite's handlers know. */
export const URN = "urn:babel:suite:tested";

/** A W3C trace header; its name is legal on every broker. */
export const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** UTF-8. */
export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of a body, replacement characters and all. */
export function text(body: Uint8Array): string {
  return decoder.decode(body);
}

/** What differs from an ordinary message. */
export interface BodyParts {
  readonly urn?: string;
  readonly id?: string;
  /** JSON text of `data`. */
  readonly data?: string;
  readonly attempts?: number;
  /** JSON text of further top-level members, each with a comma behind it. */
  readonly extra?: string;
  readonly version?: number;
}

/** A message in the shape that every SDK writes; as text, so that it may hold what no object can. */
export function envelope(queue: string, parts: BodyParts = {}): string {
  const { urn = URN, id = crypto.randomUUID(), data = "{}", attempts = 0, version = 1 } = parts;
  return `{"job":${JSON.stringify(urn)},"trace_id":"11111111-2222-4333-8444-555555555555",` +
    `"data":${data},"meta":{"id":${JSON.stringify(id)},"queue":${JSON.stringify(queue)},` +
    `"lang":"go","schema_version":${version},"created_at":1760000000123},${parts.extra ?? ""}` +
    `"attempts":${attempts}}`;
}
