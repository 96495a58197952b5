/**
 * Between the contract's messages and those of AMQP 1.0, as a JMS peer sees them: pure functions.
 *
 * @module
 */

import {
  artemisCounting,
  type Delivery,
  HEADER_REPLAY_BYPASS,
  type HeaderCarrier,
  NO_HEADERS,
  type Outgoing,
  outgoingHeaders,
  type Projection,
  projectionOf,
} from "@bq/core/transport";
import { sectionOf } from "./_body.ts";
import type { AmqpMap, AmqpMessage, AmqpOutgoing } from "./_amqp.ts";
import type { Received, TypedParts } from "./_decode.ts";
import { encoded, type PlainMessage, type Texts } from "./_encode.ts";

/** Where a JMS peer reads the URN, as JMSType. Contract: X1. */
const JMS_TYPE = "x-opt-jms-type";
/** When a scheduled message is due, in Unix milliseconds. Contract: X5. */
const DELIVERY_TIME = "x-opt-delivery-time";
/** What is about the one delivery, not about the message. */
const OF_ONE_DELIVERY = /^x-opt-(delivery-(time|delay)$|ORIG-|ACTUAL-EXPIRY)/;

/** The header that marks a replay, as a JMS property, whose name has no hyphen. Contract: G9. */
const JMS_REPLAY = "bq_replay_bypass";

const SCHEMA_VERSION = "bq_schema_version";
const DELAY = "bq_delay";

/** Properties that are the contract's own: never foreign headers. */
const CONTRACT: ReadonlySet<string> = new Set([
  SCHEMA_VERSION,
  "bq_source_lang",
  "bq_attempts",
  "bq_app_id",
  DELAY,
]);

/** What none of them carries on, being told by the headers. */
const REPLAYS: ReadonlySet<string> = new Set([HEADER_REPLAY_BYPASS, JMS_REPLAY]);

/** The broker's own properties; one of them makes it swallow a second message with the same value. */
const OF_THE_BROKER = /^_{1,2}AMQ_/;

/** How a message is made. */
export interface Manner {
  /**
   * Whether it keeps an expiry of what it continues.
   *
   * @default {true}
   */
  readonly expires?: boolean;
  /** The count beside the body, where nobody counts by what the body says. */
  readonly attempts?: number;
}

/**
 * Makes the message for a body. What it continues gives its foreign headers, and the properties that
 * the contract says nothing about: group, priority, expiry, reply-to, and the route that it came by.
 * Contract: X1, X3, X5, G9a, G50.
 *
 * @param outgoing The body, and what goes with it.
 * @param nowMs Now, in Unix milliseconds.
 * @param received What came as the delivery that is continued.
 * @param manner What is otherwise than the body and that delivery say.
 * @returns The message, or its bytes.
 */
export function toMessage(
  outgoing: Outgoing,
  nowMs: number,
  received?: Received,
  { expires = true, attempts }: Manner = {},
): AmqpOutgoing {
  const { body, canonical, delayMs = 0, verbatim } = outgoing;
  const delayed = delayMs > 0;
  const headers = outgoingHeaders(outgoing);
  const read = projectionOf(body, canonical);
  const slots = read === null || attempts === undefined ? read : { ...read, attempts };
  // A body that has slots is UTF-8.
  if (slots !== null && received === undefined && !delayed) {
    const bytes = encoded(plain(slots, headers), body);
    if (bytes !== undefined) return bytes;
  }
  const section = sectionOf(body);
  const origin = received?.message;
  const came = received?.typed;
  if (verbatim && origin !== undefined && came !== undefined) {
    return { ...kept(origin, came, expires), ...native(origin, came, headers), body: section };
  }
  const annotations = {
    ...(slots === null ? {} : { [JMS_TYPE]: slots.urn }),
    ...annotationsOf(came),
    ...(delayed ? { [DELIVERY_TIME]: Math.ceil(nowMs + delayMs) } : {}),
  };
  const properties = {
    ...foreignProperties(headers, origin, came),
    ...(slots === null ? {} : contractProperties(slots)),
    ...(delayed ? { [DELAY]: String(Math.ceil(delayMs)) } : {}),
  };
  return {
    ...(slots === null ? {} : identityOf(slots)),
    ...kept(origin, came, expires),
    durable: true,
    ...(Object.keys(annotations).length > 0 ? { message_annotations: annotations } : {}),
    ...(Object.keys(properties).length > 0 ? { application_properties: properties } : {}),
    body: section,
  };
}

/**
 * Makes the delivery of a message. It never throws: what cannot be read is marked as such.
 * Contract: X3, X4, X10, X11, G9.
 *
 * @param queue The queue that it was received from.
 * @param received What came.
 * @returns The delivery.
 */
export function toDelivery(queue: string, received: Received): Delivery {
  const { body: { body, undecodable }, properties } = received;
  return {
    queue,
    body,
    headers: foreignHeaders(properties),
    schemaVersion: own(properties, SCHEMA_VERSION),
    counting: artemisCounting(received.deliveryCount),
    ...(undecodable ? { undecodable: true } : {}),
  };
}

/** The broker's own count of earlier deliveries. */
export function deliveryCount(received: Received): number {
  return artemisCounting(received.deliveryCount).floor ?? 0;
}

/** What most messages are: they continue nothing, and their headers are texts. */
function plain(slots: Projection, headers: HeaderCarrier | undefined): PlainMessage {
  const properties = contractProperties(slots);
  return {
    durable: true,
    ...identityOf(slots),
    message_annotations: { [JMS_TYPE]: slots.urn },
    application_properties: headers === undefined
      ? properties
      : { ...foreignProperties(headers) as Texts, ...properties },
  };
}

function identityOf(
  { urn, traceId, createdAtMs }: Projection,
): Pick<PlainMessage, "subject" | "correlation_id" | "creation_time"> {
  return {
    // The broker gives JMS clients the subject as JMSType, and not the annotation.
    subject: urn,
    ...(traceId === null ? {} : { correlation_id: traceId }),
    // A timestamp is a 64-bit integer, and the client writes none that is no exact number.
    ...(Number.isSafeInteger(createdAtMs) ? { creation_time: createdAtMs! } : {}),
  };
}

function contractProperties(
  { schemaVersion, lang, attempts }: Projection,
): Texts {
  return {
    // Of a body in another version the body tells: a slot that does would keep it from being read.
    ...(schemaVersion === 1 ? { [SCHEMA_VERSION]: "1" } : {}),
    ...(lang === "" ? {} : { bq_source_lang: lang }),
    bq_attempts: String(attempts),
    bq_app_id: "babelqueue",
  };
}

/** Headers as properties; what came goes on as the type that it was, also what has no text. */
function foreignProperties(
  headers: HeaderCarrier | undefined,
  origin?: AmqpMessage,
  came?: TypedParts,
): AmqpMap {
  const properties: Map<string, unknown> = new Map();
  const read = origin?.application_properties ?? {};
  const typed = came?.properties ?? {};
  for (const [name, value] of Object.entries(typed)) {
    if (name === "" || CONTRACT.has(name) || REPLAYS.has(name) || OF_THE_BROKER.test(name)) {
      continue;
    }
    if (headerText(own(read, name)) === "") properties.set(name, value);
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (CONTRACT.has(name)) continue;
    const same = Object.hasOwn(read, name) && headerText(read[name]) === value;
    properties.set(
      name === HEADER_REPLAY_BYPASS ? JMS_REPLAY : name,
      same ? own(typed, name) : value,
    );
  }
  // Each becomes a property of its own: `__proto__` is a name like any other.
  return Object.fromEntries(properties);
}

function foreignHeaders(properties: AmqpMap): HeaderCarrier {
  let headers: Record<string, string> | undefined;
  for (const name in properties) {
    if (name === "" || CONTRACT.has(name) || !Object.hasOwn(properties, name)) continue;
    if (OF_THE_BROKER.test(name)) continue;
    const text = headerText(properties[name]);
    if (text !== "") {
      (headers ??= Object.create(null) as Record<string, string>)[headerOf(name)] = text;
    }
  }
  return headers === undefined ? NO_HEADERS : Object.freeze(headers);
}

/** The header that a property carries. */
function headerOf(property: string): string {
  return property === JMS_REPLAY ? HEADER_REPLAY_BYPASS : property;
}

/** A property as a header; empty for what has no text. */
function headerText(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : "";
  }
}

/** What a copy keeps of the properties that the contract says nothing about, and of the route. */
function kept(
  origin: AmqpMessage | undefined,
  came: TypedParts | undefined,
  expires: boolean,
): AmqpMessage {
  if (origin === undefined) return {};
  const { priority, ttl, subject, reply_to, content_type, content_encoding } = origin;
  const { absolute_expiry_time, group_id, group_sequence, reply_to_group_id } = origin;
  return defined({
    message_id: came?.messageId,
    priority,
    subject,
    reply_to,
    content_type,
    content_encoding,
    group_id,
    group_sequence,
    reply_to_group_id,
    ...(expires ? { ttl, absolute_expiry_time } : {}),
  });
}

/** All the native metadata as it came, but for foreign headers that were taken away. */
function native(origin: AmqpMessage, came: TypedParts, headers: HeaderCarrier = {}): AmqpMessage {
  const { creation_time, application_properties = {} } = origin;
  const properties = Object.entries(came.properties).filter(([name]) =>
    !OF_THE_BROKER.test(name) &&
    (CONTRACT.has(name) || Object.hasOwn(headers, headerOf(name)) ||
      (headerText(own(application_properties, name)) === "" && !REPLAYS.has(name)))
  );
  return defined({
    durable: true,
    correlation_id: came.correlationId,
    creation_time,
    message_annotations: annotationsOf(came),
    application_properties: Object.fromEntries(properties),
  });
}

function annotationsOf(came: TypedParts | undefined): AmqpMap {
  const entries = Object.entries(came?.annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => !OF_ONE_DELIVERY.test(name)));
}

function own(map: AmqpMap, name: string): unknown {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

function defined(message: { readonly [name: string]: unknown }): AmqpMessage {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}
