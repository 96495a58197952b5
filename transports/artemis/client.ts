/**
 * What the transport needs of an AMQP 1.0 connection, so that a ready one can be handed in.
 *
 * @module
 */

/**
 * The surface of a [rhea](https://github.com/amqp/rhea) connection that the transport uses. It is
 * structural, so that any version of rhea serves that has it. The transport opens sessions of its own
 * on it, and opens them anew when the connection, having reconnected by itself, opens again.
 */
export interface AmqpConnection {
  /** What it was made by; its messages are encoded with it. */
  readonly container: object;
  /** Makes a session, not yet begun. */
  create_session(bufferSize?: { incoming?: number; outgoing?: number }): object;
  /** Whether both sides have opened it and none has closed it. */
  is_open(): boolean;
  /** Adds a listener for `connection_open`, `connection_close`, `connection_error` or `disconnected`. */
  on(event: string, listener: (context: AmqpConnectionEvent) => void): unknown;
  /** Removes a listener. */
  removeListener(event: string, listener: (context: AmqpConnectionEvent) => void): unknown;
}

/** What a listener is told about a connection. */
export interface AmqpConnectionEvent {
  /** Why it ended, as far as that is known. */
  readonly error?: Error;
  /** Whether it tries by itself to come back. */
  readonly reconnecting?: boolean;
}
