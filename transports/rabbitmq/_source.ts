import type { RabbitMessage } from "./client.ts";
import type { Epoch } from "./_epoch.ts";

/** A message, and the channel that it came on. */
export interface Arrived {
  readonly message: RabbitMessage;
  readonly epoch: Epoch;
}

/** Where a subscription gets its messages from. */
export interface Source {
  /** Resolves when messages can flow. */
  open(): Promise<void>;
  /** Up to `max` messages, waiting up to `waitMs` for the first; rejects while there is trouble. */
  receive(max: number, waitMs: number): Promise<readonly Arrived[]>;
  /** Ends intake: what was not handed out goes back, and so does what comes late. */
  end(): void;
  /** Ends the channel: what was not settled on it goes back. */
  close(): Promise<void>;
}
