import {
  ConnectionError,
  failedOutcome,
  type PublishOutcome,
  uncertainOutcome,
} from "@bq/core/transport";
import type { RabbitProperties } from "./client.ts";
import type { Place } from "./_queues.ts";

/** A message on its way to the broker. */
export interface Letter {
  /** Where it is to be; also where it is sent, unless it is delayed first. */
  readonly place: Place;
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Uint8Array;
  readonly properties: RabbitProperties;
  /** Whether its headers came with a delivery, so that it has to go on without them rather than not at all. */
  readonly continues?: boolean;
}

/** One letter's turn: in the line, then sent, then ended. */
export class Entry {
  readonly letter: Letter;
  readonly batch: Batch;
  state: "waiting" | "sent" | "ended" = "waiting";
  /** Why the broker gave it back, when no queue took it. */
  returned: string | undefined;
  /** How often its way could not be prepared. */
  tries = 0;
  /** Whether it was sent a second time. */
  again = false;
  readonly #index: number;

  constructor(letter: Letter, batch: Batch, index: number) {
    this.letter = letter;
    this.batch = batch;
    this.#index = index;
  }

  /** The first outcome counts. */
  end(outcome: PublishOutcome): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.batch.set(this.#index, outcome);
  }
}

/** The letters of one publish, in order; resolves with what became of each. */
export class Batch {
  readonly entries: readonly Entry[];
  readonly outcomes: Promise<readonly PublishOutcome[]>;
  readonly #queue: string;
  readonly #outcomes: PublishOutcome[];
  readonly #resolve: (outcomes: readonly PublishOutcome[]) => void;
  #open: number;
  /** The first error. */
  failure: Error | undefined;

  /**
   * @param queue Where they go, for messages.
   * @param letters The letters.
   */
  constructor(queue: string, letters: readonly Letter[]) {
    this.#queue = queue;
    const { promise, resolve } = Promise.withResolvers<readonly PublishOutcome[]>();
    this.outcomes = promise;
    this.#resolve = resolve;
    this.#open = letters.length;
    this.#outcomes = new Array(letters.length);
    this.entries = letters.map((letter, index) => new Entry(letter, this, index));
    if (letters.length === 0) resolve([]);
  }

  set(index: number, outcome: PublishOutcome): void {
    this.#outcomes[index] = outcome;
    if (outcome.status !== "confirmed") this.failure ??= outcome.error;
    if (--this.#open === 0) this.#resolve(this.#outcomes);
  }

  /** Ends what is not confirmed: what was not sent failed, the rest is uncertain. */
  callOff(why: string): void {
    for (const entry of this.entries) {
      if (entry.state === "sent") entry.end(uncertain(this.#queue, new Error(why)));
      else entry.end(failed(this.#queue, new Error(why)));
    }
  }
}

/** Sent, and nothing heard. */
export function uncertain(queue: string, cause: Error): PublishOutcome {
  return uncertainOutcome(`publish to '${queue}'`, cause);
}

/** Not sent, or refused. */
export function failed(queue: string, cause: Error): PublishOutcome {
  if (cause instanceof ConnectionError && cause.fatal) return { status: "failed", error: cause };
  return failedOutcome(`publish to '${queue}'`, cause);
}
