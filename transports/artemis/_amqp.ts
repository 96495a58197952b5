/** What is used of rhea, typed as it behaves: its own types leave out the counters of a link. */

import type { Codec } from "./_decode.ts";
import type { AmqpConnection, AmqpConnectionEvent } from "./client.ts";

/** A value of a map section, as rhea gives and takes it. */
export type AmqpMap = { readonly [name: string]: unknown };

/** A message, its sections as flat as rhea has them. */
export interface AmqpMessage {
  readonly body?: unknown;
  readonly durable?: boolean;
  readonly priority?: number;
  readonly ttl?: number;
  readonly delivery_count?: number;
  readonly message_id?: unknown;
  readonly subject?: string;
  readonly reply_to?: string;
  readonly correlation_id?: unknown;
  readonly content_type?: string;
  readonly content_encoding?: string;
  readonly absolute_expiry_time?: unknown;
  readonly creation_time?: unknown;
  readonly group_id?: string;
  readonly group_sequence?: number;
  readonly reply_to_group_id?: string;
  readonly message_annotations?: AmqpMap;
  readonly application_properties?: AmqpMap;
  /** Its body is all of its bytes, which nobody could decode. */
  readonly undecodable?: boolean;
}

/** A message to be sent, or its bytes. */
export type AmqpOutgoing = AmqpMessage | Uint8Array;

/** What a peer says about an error. */
export interface AmqpError {
  readonly condition?: string;
  readonly description?: string;
}

/** A message on its way, in either direction. */
export interface AmqpDelivery {
  /** Its number on its session. */
  readonly id: number;
  /** What the broker made of a message that was sent. */
  readonly remote_state?: { readonly error?: AmqpError };
  accept(): void;
  release(): void;
  reject(error: AmqpError): void;
  modified(how: { delivery_failed: boolean; undeliverable_here: boolean }): void;
}

/** What a listener is told. */
export interface AmqpContext extends AmqpConnectionEvent {
  /** Decoded; the bytes of one in another format than 0. */
  readonly message?: AmqpMessage;
  /** The format of one that is not decoded. */
  readonly format?: number;
  readonly delivery?: AmqpDelivery;
}

interface Listened {
  on(event: string, listener: (context: AmqpContext) => void): unknown;
}

interface AmqpLink extends Listened {
  readonly error?: AmqpError;
  readonly credit: number;
  close(): void;
}

/** A link that sends. */
export interface AmqpSender extends AmqpLink {
  readonly target?: { readonly address?: string } | null;
  /** How many messages were sent, in the sequence that the broker gives credit in. */
  readonly delivery_count: number;
  /** Bytes are sent as they are when their format is given; 0 is that of messages. */
  send(message: AmqpOutgoing, tag?: undefined, format?: 0): AmqpDelivery;
}

/** A link that receives. */
export interface AmqpReceiver extends AmqpLink {
  readonly source?: { readonly address?: string } | null;
  /** Whether the next flow asks the broker to use up the credit at once. */
  drain: boolean;
  add_credit(credit: number): void;
  drain_credit(): void;
}

/** Source or target of a link. */
export interface Terminus {
  readonly address?: string;
  readonly capabilities?: readonly string[];
  readonly distribution_mode?: "copy";
  /** Symbols of what may become of a message. */
  readonly outcomes?: readonly string[];
  readonly dynamic?: boolean;
}

/** A session. */
export interface AmqpSession extends Listened {
  readonly error?: AmqpError;
  begin(): void;
  close(): void;
  /** Forgets it at once, so that it is not revived when the connection comes back. */
  remove(): void;
  /** Takes a frame of a message. */
  on_transfer(frame: { readonly performative: { message_format?: unknown } }): void;
  attach_sender(options: { source?: Terminus; target: Terminus }): AmqpSender;
  attach_receiver(options: {
    source: Terminus;
    credit_window: number;
    autoaccept: boolean;
  }): AmqpReceiver;
}

/** What a connection has beside what is asked of a ready one. */
export interface RheaConnection extends AmqpConnection {
  readonly offered_capabilities?: string | readonly string[] | null;
  readonly properties?: AmqpMap | null;
  readonly container: Codec;
  create_session(bufferSize?: { incoming?: number; outgoing?: number }): AmqpSession;
  close(): void;
}
