/**
 * Between the contract's messages and those of AMQP 1.0, as a JMS peer sees them: pure functions.
 *
 * @module
 */

import {
  artemisCounting,
  type Delivery,
  type HeaderCarrier,
  type Outgoing,
  outgoingHeaders,
  type Projection,
  projectionOf,
} from "@bq/core/transport";
import { bodyOf, sectionOf } from "./_body.ts";
import type { AmqpMap, AmqpMessage } from "./_amqp.ts";

/** Where a JMS peer reads the URN, as JMSType. Contract: X1. */
const JMS_TYPE = "x-opt-jms-type";
/** When a scheduled message is due, in Unix milliseconds. Contract: X5. */
const DELIVERY_TIME = "x-opt-delivery-time";
/** What is about the one delivery, not about the message. */
const OF_ONE_DELIVERY = /^x-opt-(delivery-(time|delay)$|ORIG-|ACTUAL-EXPIRY|jms-type$)/;

/** The header that marks a replay, and its name as a JMS property, which has no hyphen. Contract: G9. */
const REPLAY = "bq-replay-bypass";
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

/** Most messages have none. */
const NO_HEADERS: HeaderCarrier = Object.freeze(Object.create(null));

/** The broker's own properties; one of them makes it swallow a second message with the same value. */
const OF_THE_BROKER = /^_{1,2}AMQ_/;

/**
 * Makes the message for a body. What it continues gives its foreign headers, and the properties that
 * the contract says nothing about: group, priority, expiry, reply-to. Contract: X1, X3, X5, G9a.
 *
 * @param outgoing The body, and what goes with it.
 * @param nowMs Now, in Unix milliseconds.
 * @param origin The native message of the delivery that is continued.
 * @returns The message.
 */
export function toMessage(outgoing: Outgoing, nowMs: number, origin?: AmqpMessage): AmqpMessage {
  const { body, canonical, delayMs = 0, headers, verbatim } = outgoing;
  const section = sectionOf(body);
  if (verbatim && origin !== undefined) {
    return { ...kept(origin), ...native(origin, outgoingHeaders(outgoing)), body: section };
  }
  const slots = projectionOf(body, canonical);
  const delayed = delayMs > 0;
  const alone = origin === undefined && headers === undefined && !delayed;
  if (alone && slots !== null) return plain(slots, section);
  const annotations = {
    ...annotationsOf(origin),
    ...(slots === null ? {} : { [JMS_TYPE]: slots.urn }),
    ...(delayed ? { [DELIVERY_TIME]: Math.ceil(nowMs + delayMs) } : {}),
  };
  const properties = {
    ...foreignProperties(outgoingHeaders(outgoing), origin),
    ...(slots === null ? {} : contractProperties(slots)),
    ...(delayed ? { [DELAY]: String(Math.ceil(delayMs)) } : {}),
  };
  return {
    ...kept(origin),
    durable: true,
    ...(slots === null ? {} : identityOf(slots)),
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
 * @param message The message.
 * @returns The delivery.
 */
export function toDelivery(queue: string, message: AmqpMessage): Delivery {
  const { body, undecodable } = bodyOf(message.body);
  const properties = message.application_properties ?? {};
  return {
    queue,
    body,
    headers: foreignHeaders(properties),
    schemaVersion: own(properties, SCHEMA_VERSION),
    counting: artemisCounting(message.delivery_count),
    ...(undecodable ? { undecodable: true } : {}),
  };
}

/** The broker's own count of earlier deliveries. */
export function deliveryCount(message: AmqpMessage): number {
  return artemisCounting(message.delivery_count).floor ?? 0;
}

/** What most messages are, made without looking for what they have not. */
function plain(slots: Projection, section: unknown): AmqpMessage {
  return {
    durable: true,
    ...identityOf(slots),
    message_annotations: { [JMS_TYPE]: slots.urn },
    application_properties: contractProperties(slots),
    body: section,
  };
}

function identityOf({ urn, traceId, createdAtMs }: Projection): AmqpMessage {
  return {
    // The broker gives JMS clients the subject as JMSType, and not the annotation.
    subject: urn,
    ...(traceId === null ? {} : { correlation_id: traceId }),
    // A timestamp is a 64-bit integer, and the client writes none that is no exact number.
    ...(Number.isSafeInteger(createdAtMs) ? { creation_time: createdAtMs } : {}),
  };
}

function contractProperties({ schemaVersion, lang, attempts }: Projection): AmqpMap {
  return {
    // Of a body in another version the body tells: a slot that does would keep it from being read.
    ...(schemaVersion === 1 ? { [SCHEMA_VERSION]: "1" } : {}),
    ...(lang === "" ? {} : { bq_source_lang: lang }),
    bq_attempts: String(attempts),
    bq_app_id: "babelqueue",
  };
}

/** Headers as properties; what came as another type than text goes on as that type. */
function foreignProperties(headers: HeaderCarrier | undefined, origin?: AmqpMessage): AmqpMap {
  const properties: Record<string, unknown> = {};
  const came = origin?.application_properties ?? {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (CONTRACT.has(name) || OF_THE_BROKER.test(name)) continue;
    const typed = own(came, name);
    // A property without a prototype's say: `__proto__` is a name like any other.
    Object.defineProperty(properties, name === REPLAY ? JMS_REPLAY : name, {
      value: headerText(typed) === value ? typed : value,
      enumerable: true,
    });
  }
  return properties;
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
  return property === JMS_REPLAY ? REPLAY : property;
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

/** What a copy keeps of the properties that the contract says nothing about. */
function kept(origin: AmqpMessage | undefined): AmqpMessage {
  if (origin === undefined) return {};
  const id = origin.message_id;
  const { priority, ttl, subject, reply_to, content_type, content_encoding } = origin;
  const { absolute_expiry_time, group_id, group_sequence, reply_to_group_id } = origin;
  return defined({
    message_id: isWritableId(id) ? id : undefined,
    priority,
    ttl,
    subject,
    reply_to,
    content_type,
    content_encoding,
    absolute_expiry_time,
    group_id,
    group_sequence,
    reply_to_group_id,
  });
}

/** All the native metadata as it came, but for foreign headers that were taken away. */
function native(origin: AmqpMessage, headers: HeaderCarrier = {}): AmqpMessage {
  const { correlation_id, creation_time, application_properties = {} } = origin;
  const annotations = Object.entries(origin.message_annotations ?? {})
    .filter(([name]) => name === JMS_TYPE || !OF_ONE_DELIVERY.test(name));
  const properties = Object.entries(application_properties).filter(([name, value]) =>
    value !== undefined && !OF_THE_BROKER.test(name) &&
    (CONTRACT.has(name) || headerText(value) === "" || Object.hasOwn(headers, headerOf(name)))
  );
  return defined({
    durable: true,
    correlation_id: isWritableId(correlation_id) ? correlation_id : undefined,
    creation_time,
    message_annotations: Object.fromEntries(annotations),
    application_properties: Object.fromEntries(properties),
  });
}

function annotationsOf(origin: AmqpMessage | undefined): AmqpMap {
  const entries = Object.entries(origin?.message_annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => !OF_ONE_DELIVERY.test(name)));
}

/** Ids that the client writes as it read them: it takes other bytes for a UUID. */
function isWritableId(id: unknown): boolean {
  return typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id)) ||
    (id instanceof Uint8Array && id.length === 16);
}

function own(map: AmqpMap, name: string): unknown {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

function defined(message: { readonly [name: string]: unknown }): AmqpMessage {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}
