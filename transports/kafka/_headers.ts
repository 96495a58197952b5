import type { HeaderCarrier, Projection } from "@bq/core/transport";
import type { RecordHeaders } from "./client.ts";

/** Names of the contract's headers on a record. Contract: K1, K23. */
export const HEADER = {
  job: "bq-job",
  traceId: "bq-trace-id",
  messageId: "bq-message-id",
  schemaVersion: "bq-schema-version",
  sourceLang: "bq-source-lang",
  attempts: "bq-attempts",
  delay: "bq-delay",
  originalTopic: "bq-original-topic",
} as const;

const CONTRACT: ReadonlySet<string> = new Set(Object.values(HEADER));
/** Headers that say where a record waits, and end with its wait. */
const WAIT: ReadonlySet<string> = new Set([HEADER.delay, HEADER.originalTopic]);

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of a header's value; bytes that are no UTF-8 become U+FFFD. */
function headerText(value: Uint8Array | string): string {
  return typeof value === "string" ? value : decoder.decode(value);
}

/**
 * The value of the first header with that name, as text. Contract: K4.
 *
 * @returns Null when it has no value, undefined when there is none.
 */
export function firstHeader(headers: RecordHeaders, name: string): string | null | undefined {
  const found = headers.find(([other]) => other === name);
  if (found === undefined) return undefined;
  return found[1] === null ? null : headerText(found[1]);
}

/** What a consumer sees: the first of each foreign header, as text. */
export function foreignHeaders(headers: RecordHeaders): HeaderCarrier {
  const foreign = Object.create(null) as Record<string, string>;
  let silent: Set<string> | undefined;
  for (const [name, value] of headers) {
    if (name === "" || CONTRACT.has(name) || name in foreign || silent?.has(name)) continue;
    const text = value === null ? "" : headerText(value);
    if (text !== "") foreign[name] = text;
    // The first one counts, also when there is nothing in it. Contract: K4.
    else (silent ??= new Set()).add(name);
  }
  return Object.freeze(foreign);
}

/** Whether a header is one of the contract's. */
export function isContract(name: string): boolean {
  return CONTRACT.has(name);
}

/** Every foreign header exactly as it came, repeated ones included. */
export function foreignList(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => !CONTRACT.has(name));
}

/** Every header but those that end with a record's wait. Contract: K40. */
export function withoutWait(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => !WAIT.has(name));
}

/** Every header but some. */
export function without(headers: RecordHeaders, ...names: readonly string[]): RecordHeaders {
  return headers.filter(([name]) => !names.includes(name));
}

/** Headers of a map. */
export function headersOf(map: Readonly<Record<string, string>>): RecordHeaders {
  return Object.entries(map);
}

/**
 * What a body says, beside it. A version that nobody reads has no slot: such a body is judged by what
 * it says, and not by a slot that came from it. Contract: K1, G4.
 */
export function contractHeaders(projection: Projection): [string, string][] {
  const { urn, traceId, messageId, schemaVersion, lang, attempts } = projection;
  const headers: [string, string][] = [[HEADER.job, urn]];
  if (traceId) headers.push([HEADER.traceId, traceId]);
  if (messageId !== "") headers.push([HEADER.messageId, messageId]);
  if (schemaVersion === 1) headers.push([HEADER.schemaVersion, "1"]);
  if (lang !== "") headers.push([HEADER.sourceLang, lang]);
  headers.push([HEADER.attempts, `${attempts}`]);
  return headers;
}
