/**
 * What the transport needs of a connection to RabbitMQ. The interfaces are structural, so that a
 * connection of any version of amqplib serves, made by its `connect` or by its recovery.
 *
 * @module
 */

/** Native headers: strings, numbers, booleans, null, lists, tables, bytes, and what amqplib writes as `{ "!": type, value }`. */
export type RabbitHeaders = { readonly [name: string]: unknown };

/** Properties of a message, by the names of amqplib. An absent one is undefined. */
export interface RabbitProperties {
  /** Media type of the body. */
  readonly contentType?: string | undefined;
  /** Encoding of the body. */
  readonly contentEncoding?: string | undefined;
  /** The header table. */
  readonly headers?: RabbitHeaders | undefined;
  /** 2 for a message that outlives a restart. */
  readonly deliveryMode?: number | undefined;
  /** Priority, on a queue that has some. */
  readonly priority?: number | undefined;
  /** What it belongs to; here the trace. */
  readonly correlationId?: string | undefined;
  /** Where an answer would go. */
  readonly replyTo?: string | undefined;
  /** Milliseconds that it waits in a queue at most, as text. */
  readonly expiration?: string | undefined;
  /** Its own id. */
  readonly messageId?: string | undefined;
  /** Seconds since 1970. */
  readonly timestamp?: number | undefined;
  /** Its type; here the URN. */
  readonly type?: string | undefined;
  /** Who published it; the broker checks that. */
  readonly userId?: string | undefined;
  /** What published it. */
  readonly appId?: string | undefined;
}

/** A message as it was delivered, or returned because no queue wanted it. */
export interface RabbitMessage {
  /** The body. */
  readonly content: Uint8Array;
  /** How it came; a returned one says why. */
  readonly fields: {
    /** Number of the delivery on its channel. */
    readonly deliveryTag: number;
    readonly exchange: string;
    readonly routingKey: string;
    readonly redelivered?: boolean;
    readonly replyCode?: number;
    readonly replyText?: string;
  };
  /** Its properties. */
  readonly properties: RabbitProperties;
}

/** Called with what an event brings. A method, so that a listener may name the types it expects. */
export type RabbitListener = { listen(...values: readonly unknown[]): void }["listen"];

/** Something that reports by events. */
export interface RabbitEmitter {
  /** Calls the listener at every such event. */
  on(event: string, listener: RabbitListener): unknown;
  /** Ends that. */
  removeListener(event: string, listener: RabbitListener): unknown;
}

/** What a broker says about a queue. */
export interface RabbitQueueState {
  /** Messages that wait. */
  readonly messageCount: number;
}

/** A channel to receive on. */
export interface RabbitChannel extends RabbitEmitter {
  /** Declares a queue. */
  assertQueue(queue: string, options: object): Promise<RabbitQueueState>;
  /** Looks at a queue. Where there is none the channel is dead afterwards. */
  checkQueue(queue: string): Promise<RabbitQueueState>;
  /** Declares an exchange. */
  assertExchange(exchange: string, type: string, options: object): Promise<unknown>;
  /** Looks at an exchange. */
  checkExchange(exchange: string): Promise<unknown>;
  /** Binds a queue to an exchange. */
  bindQueue(queue: string, exchange: string, key: string): Promise<unknown>;
  /** Limits how many messages are unacknowledged at a time. */
  prefetch(count: number): Promise<unknown>;
  /** Asks for messages to be pushed; null stands for the end of that. */
  consume(
    queue: string,
    received: (message: RabbitMessage | null) => void,
  ): Promise<{ readonly consumerTag: string }>;
  /** Ends the pushing. */
  cancel(consumerTag: string): Promise<unknown>;
  /** Takes one message, if there is one. */
  get(queue: string): Promise<RabbitMessage | false>;
  /** Acknowledges. */
  ack(message: RabbitMessage, upTo?: boolean): void;
  /** Gives back. */
  nack(message: RabbitMessage, upTo?: boolean, requeue?: boolean): void;
  /** Ends the channel; what is unacknowledged on it goes back. */
  close(): Promise<void>;
}

/** A channel to publish on, each message with its confirmation. */
export interface RabbitConfirmChannel extends RabbitChannel {
  /** Publishes; the callback is told what became of it. */
  publish(
    exchange: string,
    routingKey: string,
    content: Uint8Array,
    options: object,
    confirmed: (error: Error | null) => void,
  ): boolean;
}

/**
 * A connection of amqplib, made by `connect`; with its option `recovery` it comes back by itself.
 *
 * @example Bring a connection of your own
 * ```ts ignore
 * import amqp from "amqplib";
 *
 * const connection = await amqp.connect("amqp://localhost", { noDelay: true, recovery: true });
 * const bq = new BabelQueue(rabbitmq({ connection }));
 * ```
 */
export interface RabbitConnection extends RabbitEmitter {
  /** Opens a channel. */
  createChannel(): Promise<RabbitChannel>;
  /** Opens a channel whose publishes are confirmed. */
  createConfirmChannel(): Promise<RabbitConfirmChannel>;
  /** Disconnects. */
  close(): Promise<void>;
  /** Only there when the connection comes back by itself. */
  waitForConnect?(): Promise<unknown>;
}
