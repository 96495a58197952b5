/**
 * Another AMQP 1.0 client: it sends and receives messages as they are, with nothing of the transport.
 *
 * @module
 */

import rhea from "rhea";

/** A message as rhea has it. */
export interface NativeMessage {
  readonly body?: unknown;
  readonly durable?: boolean;
  readonly delivery_count?: number;
  readonly correlation_id?: unknown;
  readonly creation_time?: unknown;
  readonly message_annotations?: Readonly<Record<string, unknown>>;
  readonly application_properties?: Readonly<Record<string, unknown>>;
  readonly [property: string]: unknown;
}

/** How a received message is settled. */
export type Settling = "accept" | "release" | "fail";

/** One connection. */
export class Peer {
  readonly #connection: rhea.Connection;

  private constructor(connection: rhea.Connection) {
    this.#connection = connection;
  }

  /** Connects to a port of 127.0.0.1. */
  static async connect(port: number): Promise<Peer> {
    return new Peer(await connect(port));
  }

  /** Sends one message and waits until the broker has it. */
  send(queue: string, message: NativeMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const sender = this.#connection.open_sender({
        target: { address: queue, capabilities: ["queue"] },
      });
      sender.once("sendable", () => {
        sender.send({ durable: true, ...message } as never);
      });
      const refused = (what: string) => (): void => {
        sender.close();
        reject(new Error(`Cannot send to '${queue}': ${what}`));
      };
      sender.on("accepted", () => {
        sender.on("sender_close", () => resolve());
        sender.close();
      });
      sender.on("rejected", refused("rejected"));
      sender.on("sender_error", refused(sender.error?.toString() ?? "refused"));
    });
  }

  /** Receives so many messages, settles them and gives them as they came. */
  receive(
    queue: string,
    count: number = 1,
    settling: Settling = "accept",
  ): Promise<NativeMessage[]> {
    return new Promise((resolve, reject) => {
      const messages: NativeMessage[] = [];
      const receiver = this.#connection.open_receiver({
        source: { address: queue, capabilities: ["queue"] },
        credit_window: 0,
        autoaccept: false,
      });
      receiver.on("receiver_open", () => receiver.add_credit(count));
      receiver.on("receiver_error", () => reject(new Error(`Cannot receive from '${queue}'`)));
      receiver.on("receiver_close", () => resolve(messages));
      receiver.on("message", ({ message, delivery }: rhea.EventContext) => {
        messages.push(message as unknown as NativeMessage);
        if (settling === "accept") delivery?.accept();
        else if (settling === "release") delivery?.release();
        else delivery?.modified({ delivery_failed: true, undeliverable_here: false });
        if (messages.length === count) receiver.close();
      });
    });
  }

  /**
   * Asks the management to do something, and gives its answer.
   *
   * @param resource What it is done to: `broker`, `queue.NAME` or `address.NAME`.
   * @param operation The operation.
   * @param parameters Its parameters.
   */
  manage(resource: string, operation: string, ...parameters: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const replies = this.#connection.open_receiver({ source: { dynamic: true } } as never);
      const questions = this.#connection.open_sender("activemq.management");
      replies.once("receiver_open", () => {
        questions.send({
          body: JSON.stringify(parameters),
          reply_to: replies.source.address,
          application_properties: {
            _AMQ_ResourceName: resource,
            _AMQ_OperationName: operation,
          },
        });
      });
      replies.once("message", ({ message }: rhea.EventContext) => {
        replies.close();
        questions.close();
        const properties = message?.application_properties ?? {};
        if (properties["_AMQ_OperationSucceeded"] !== false) return resolve(message?.body);
        reject(new Error(`Cannot ${operation} ${resource}: ${message?.body}`));
      });
    });
  }

  /** Disconnects. */
  close(): Promise<void> {
    return disconnect(this.#connection);
  }
}

/** A connection of rhea's own to a port of 127.0.0.1. */
export function connect(port: number): Promise<rhea.Connection> {
  return new Promise((resolve, reject) => {
    const connection = rhea.create_container().create_connection({
      host: "127.0.0.1",
      port,
      username: "anonymous",
      reconnect: false,
      tcp_no_delay: true,
    } as never);
    const failed = (context: rhea.EventContext): void =>
      reject(context.error ?? new Error("no connection"));
    connection.on("connection_open", () => resolve(connection));
    connection.on("connection_error", failed);
    connection.on("disconnected", failed);
    connection.connect();
  });
}

/** Ends a connection; resolves when it has ended. */
export function disconnect(connection: rhea.Connection): Promise<void> {
  return new Promise((resolve) => {
    connection.on("connection_close", () => resolve());
    connection.on("disconnected", () => resolve());
    connection.close();
  });
}
