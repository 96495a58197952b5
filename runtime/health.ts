/** How the work on one queue is doing. */
export interface QueueHealth {
  /** The queue. */
  readonly queue: string;
  /** What it is doing. */
  readonly state: "subscribing" | "working" | "backing_off" | "stopping";
  /** When a receive last answered, in Unix milliseconds. */
  readonly lastPollAtMs: number | null;
  /** What last went wrong. */
  readonly lastError: Error | null;
  /** Messages received and not yet decided: running handlers and what waits for one. */
  readonly inFlight: number;
  /** Messages kept back before a retry. */
  readonly held: number;
  /** Settles without an answer yet. */
  readonly settling: number;
  /** Handlers that ended after their message had been settled without them. */
  readonly lateResults: number;
}

/** How a {@linkcode BabelQueue} is doing. */
export interface Health {
  /** What it is doing. */
  readonly state: "idle" | "working" | "stopping" | "closed";
  /** Whether the connection is up. */
  readonly connected: boolean;
  /** One entry a queue that is worked on. */
  readonly queues: readonly QueueHealth[];
}
