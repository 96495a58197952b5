/**
 * The native form of a message: its properties and headers, made of the body or carried on from the
 * delivery that it continues.
 *
 * @module
 */

import {
  type HeaderCarrier,
  NO_HEADERS,
  type Projection,
  projectionOf,
  reconcile,
  recordHeaders,
  type Verdict,
} from "@bq/core/transport";
import type { RabbitHeaders, RabbitMessage, RabbitProperties } from "./client.ts";

/** Headers of the contract. Contract: Q1, Q5. */
const CONTRACT: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "x-attempts",
  "x-schema-version",
  "x-source-lang",
  "x-delay",
]);

/**
 * Headers that mean something to the broker. `CC` and `BCC` would send a copy to more queues; a message
 * that carries the broker's own record of its deaths counts as going round in a circle, and is dropped,
 * when a delay queue sends it to a queue of that record.
 */
const BROKER = /^(CC|BCC|x-death|x-(first|last)-death-.*|x-delivery-count|x-acquired-count)$/;

/** Longest text of a property, in bytes of UTF-8. */
const LONGEST_PROPERTY = 255;

const encoder = new TextEncoder();

/** Whether a header is the contract's. */
export function isContract(name: string): boolean {
  return CONTRACT.has(name);
}

/** Whether a header is neither the contract's nor the broker's. */
function isForeign(name: string): boolean {
  return name !== "" && !CONTRACT.has(name) && !BROKER.test(name);
}

/** Native headers without those of the contract and of the broker. */
function foreignHeaders(headers: RabbitHeaders | undefined): Record<string, unknown> {
  const foreign: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(headers ?? {})) {
    if (isForeign(name)) foreign[name] = headers![name];
  }
  return foreign;
}

/**
 * Foreign headers as texts, as handlers see them. Tables, lists and null have none; they travel on with
 * a copy all the same.
 */
export function textHeaders(headers: RabbitHeaders | undefined): HeaderCarrier {
  let texts: Record<string, string> | undefined;
  for (const name in headers) {
    const value = textOf(headers[name]);
    if (value === "" || !isForeign(name)) continue;
    texts ??= Object.create(null) as Record<string, string>;
    texts[name] = value;
  }
  return texts === undefined ? NO_HEADERS : Object.freeze(texts);
}

function textOf(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
  }
}

/** The count beside the body, where there is one. Contract: Q7. */
export function attemptsOf(headers: RabbitHeaders | undefined): number | undefined {
  const value = headers?.["x-attempts"];
  const count = typeof value === "string" && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) ? count : undefined;
}

/**
 * Header tables of new messages without foreign headers, by what they say. The client makes each table
 * the prototype of another object, which is costly the first time.
 */
export type KnownHeaders = Map<string, RabbitHeaders>;

/** Tables that are kept; languages are few. */
const MOST_KNOWN = 32;

/**
 * Properties and headers of a new message. A text that is too long for its slot has none: the body
 * says it. Contract: Q1, Q2, Q4, G4, G5.
 *
 * @param body The body.
 * @param riders Foreign headers; the contract's win.
 * @param known Tables that were made before.
 * @param canonical Whether this library encoded the body.
 * @returns What amqplib takes.
 */
export function newProperties(
  body: Uint8Array,
  riders: RabbitHeaders | undefined,
  known: KnownHeaders,
  canonical: boolean = false,
): RabbitProperties {
  const projection = projectionOf(body, canonical);
  const isPlain = projection !== null && (riders === undefined || isEmpty(riders));
  return slots(
    projection,
    isPlain ? plainHeaders(projection, known) : allHeaders(projection, riders),
  );
}

function isEmpty(headers: RabbitHeaders): boolean {
  for (const _ in headers) return false;
  return true;
}

function plainHeaders(projection: Projection, known: KnownHeaders): RabbitHeaders {
  const { attempts, schemaVersion, lang } = projection;
  const key = `${attempts} ${schemaVersion} ${lang}`;
  let headers = known.get(key);
  if (headers === undefined) {
    headers = contractHeaders(projection);
    if (known.size < MOST_KNOWN) known.set(key, headers);
  }
  return headers;
}

function allHeaders(
  projection: Projection | null,
  riders: RabbitHeaders | undefined,
): RabbitHeaders {
  const headers = foreignHeaders(riders);
  return projection === null ? headers : Object.assign(headers, contractHeaders(projection));
}

/**
 * Properties of a copy that goes back to its queue: every one that the original had, over those that
 * the body projects; only the count changes. Contract: Q8, Q11, G9a, G50.
 *
 * @param original The message that is continued.
 * @param body The body of the copy.
 * @param attempts What `x-attempts` is to say; when absent, what it said.
 * @param user The name that the connection is logged in with; the broker refuses any other.
 */
export function copyProperties(
  { properties }: RabbitMessage,
  body: Uint8Array,
  attempts: number | undefined,
  user: string | undefined,
): RabbitProperties {
  const projection = projectionOf(body);
  const old = properties.headers ?? {};
  const headers = foreignHeaders(old);
  for (const name of ["x-schema-version", "x-source-lang"]) {
    if (Object.hasOwn(old, name)) headers[name] = old[name];
  }
  if (projection !== null) Object.assign(headers, contractHeaders(projection));
  const count = attempts ?? attemptsOf(old);
  if (count !== undefined) headers["x-attempts"] = count;
  return { ...slots(projection, headers), ...carried(properties, user), headers };
}

/**
 * Properties of a dead-letter record: the whole projection of the record over what the original had.
 * It does not expire, and its headers have no replay marker. Contract: Q14, G9a.
 *
 * @param original The message that failed for good.
 * @param verdict The record, and why there is one.
 */
export function recordProperties(
  { properties }: RabbitMessage,
  { record, reason }: Pick<Extract<Verdict, { kind: "deadLetter" }>, "record" | "reason">,
): RabbitProperties {
  const projection = projectionOf(record);
  // Whether one may stay depends on its name alone.
  const foreign = foreignHeaders(properties.headers) as Record<string, string>;
  const headers: Record<string, unknown> = { ...recordHeaders(foreign) };
  const beside = attemptsOf(properties.headers);
  const counted = reconcile(null, beside === undefined ? {} : { beside });
  if (projection === null) {
    if (beside !== undefined) headers["x-attempts"] = counted;
  } else {
    // A body that is refused may say something else, which nobody counts by. Contract: Q11, G14.
    const attempts = reason === "poison" ? counted : projection.attempts;
    Object.assign(headers, contractHeaders({ ...projection, attempts }));
  }
  const said = onlySet(slots(projection, headers));
  return { ...carried(properties, undefined), ...said, expiration: undefined };
}

/**
 * Properties of a message that continues another one elsewhere: a new projection, with what the original
 * had beside it. Contract: G9a.
 *
 * @param original The message that is continued.
 * @param body The new body.
 * @param riders Foreign headers over those of the original.
 * @param user The name that the connection is logged in with.
 */
export function continuedProperties(
  { properties }: RabbitMessage,
  body: Uint8Array,
  riders: RabbitHeaders | undefined,
  user: string | undefined,
): RabbitProperties {
  const foreign = { ...foreignHeaders(properties.headers), ...riders };
  const said = onlySet(newProperties(body, foreign, new Map()));
  return { ...carried(properties, user), ...said };
}

/** Properties as they came, for a message that is put back untouched. */
export function verbatimProperties(
  { properties }: RabbitMessage,
  user: string | undefined,
): RabbitProperties {
  const headers: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(properties.headers ?? {})) {
    if (!BROKER.test(name)) headers[name] = value;
  }
  return { ...slots(null, headers), ...carried(properties, user), headers };
}

function slots(projection: Projection | null, headers: RabbitHeaders): RabbitProperties {
  return {
    contentType: "application/json",
    contentEncoding: "utf-8",
    deliveryMode: 2,
    appId: "babelqueue",
    type: short(projection?.urn),
    correlationId: short(projection?.traceId),
    messageId: short(projection?.messageId),
    headers,
  };
}

function contractHeaders({ attempts, schemaVersion, lang }: Projection): RabbitHeaders {
  return {
    "x-attempts": attempts,
    ...(schemaVersion === null ? {} : { "x-schema-version": schemaVersion }),
    ...(lang === "" ? {} : { "x-source-lang": lang }),
  };
}

/** What of the original's properties is on whatever continues it. Contract: the persistent mode of Q1. */
function carried(properties: RabbitProperties, user: string | undefined): RabbitProperties {
  const { priority, timestamp, userId, headers } = properties;
  return onlySet({
    contentType: short(properties.contentType),
    contentEncoding: short(properties.contentEncoding),
    type: short(properties.type),
    correlationId: short(properties.correlationId),
    messageId: short(properties.messageId),
    appId: short(properties.appId),
    replyTo: short(properties.replyTo),
    expiration: short(properties.expiration ?? expirationBeforeDelay(headers)),
    userId: short(userId === user ? userId : undefined),
    priority,
    // A larger one has lost digits on the way in, and the client does not write it again.
    timestamp: Number.isSafeInteger(timestamp) ? timestamp : undefined,
  });
}

/** Without what is undefined, so that it can be laid over something else. */
function onlySet(properties: RabbitProperties): RabbitProperties {
  return Object.fromEntries(
    Object.entries(properties).filter(([, value]) => value !== undefined),
  );
}

/** A delay queue takes the expiration off a message and notes it in its record of deaths. */
function expirationBeforeDelay(headers: RabbitHeaders | undefined): string | undefined {
  const deaths = headers?.["x-death"];
  const last: unknown = Array.isArray(deaths) ? deaths[0] : undefined;
  if (typeof last !== "object" || last === null) return undefined;
  const death = last as Readonly<Record<string, unknown>>;
  const queue = String(death["queue"]);
  const before = death["original-expiration"];
  return /\.delay\.[0-9]+$/.test(queue) && typeof before === "string" ? before : undefined;
}

/** A text that fits into a property; an empty one has no slot. */
function short(value: string | null | undefined): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  // No character of UTF-16 takes more than three bytes.
  if (value.length * 3 <= LONGEST_PROPERTY) return value;
  return encoder.encode(value).length <= LONGEST_PROPERTY ? value : undefined;
}
