import type { RabbitMessage } from "./client.ts";

/** Sends an acknowledgement; with `upTo` one of everything before it too. */
export type SendAck = (message: RabbitMessage, upTo: boolean) => void;

/**
 * Acknowledgements of one channel. Those of one tick go out together; where nothing before them is left
 * to be settled, in a single frame.
 */
export class Acks {
  readonly #send: SendAck;
  /** Delivery tags that came and are not settled, in their order. */
  readonly #open: Set<number> = new Set();
  #pending: RabbitMessage[] = [];

  /** @param send Sends one. */
  constructor(send: SendAck) {
    this.#send = send;
  }

  /** Notes a message that came on the channel. */
  came({ fields }: RabbitMessage): void {
    this.#open.add(fields.deliveryTag);
  }

  /** Notes a message that was settled in another way. */
  settled({ fields }: RabbitMessage): void {
    this.#open.delete(fields.deliveryTag);
  }

  /** Acknowledges a message, soon. */
  add(message: RabbitMessage): void {
    this.#open.delete(message.fields.deliveryTag);
    // The client writes to its socket after the promise jobs of a tick.
    if (this.#pending.push(message) === 1) queueMicrotask(() => queueMicrotask(() => this.flush()));
  }

  /** Sends what is to be sent. */
  flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    const [firstOpen = Infinity] = this.#open;
    let last: RabbitMessage | undefined;
    let joined = 0;
    for (const message of pending) {
      const { deliveryTag } = message.fields;
      if (deliveryTag > firstOpen) {
        this.#send(message, false);
        continue;
      }
      joined++;
      if (last === undefined || deliveryTag > last.fields.deliveryTag) last = message;
    }
    if (last !== undefined) this.#send(last, joined > 1);
  }
}
