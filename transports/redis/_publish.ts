import {
  BabelQueueError,
  type Clock,
  ConnectionError,
  type Outgoing,
  type PublishOutcome,
  PublishUncertainError,
} from "@bq/core/transport";
import { connectionError, isAnswer, textOf, UnsentError } from "./_errors.ts";
import type { PublishCall, QueueLayout } from "./_layout.ts";
import type { Link } from "./_link.ts";

/** What a publish works with. */
export interface PublishSetup {
  readonly queue: string;
  readonly layout: QueueLayout;
  readonly link: Link;
  readonly clock: Clock;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** Publishes in order, each part after the one before it was confirmed. It never rejects. */
export async function publishAll(
  messages: readonly Outgoing[],
  setup: PublishSetup,
): Promise<readonly PublishOutcome[]> {
  const { queue, layout, clock } = setup;
  const outcomes: PublishOutcome[] = new Array(messages.length);
  let failure: PublishOutcome | undefined;
  for (const call of layout.publish(messages, clock.now())) {
    // What comes behind a message that is not there would overtake it.
    const outcome = failure ?? await publishPart(call, setup);
    if (outcome.status !== "confirmed") {
      failure ??= { status: "failed", error: outcome.error };
    }
    for (const index of call.indexes) outcomes[index] = outcome;
  }
  return Array.from(outcomes, (outcome) => outcome ?? unanswered(queue));
}

async function publishPart(
  { send }: PublishCall,
  { queue, link, signal }: PublishSetup,
): Promise<PublishOutcome> {
  const doing = `publish to '${queue}'`;
  for (;;) {
    if (!link.up) {
      const { fatal } = link.unsent();
      if (!fatal) await link.ready(signal);
      if (!link.up) return failed(connectionError(doing, link.unsent()));
    }
    if (signal.aborted) {
      return unsentOutcome(queue);
    }
    try {
      if (await unlessAborted(link.send(send), signal) === ABORTED) {
        return uncertainOutcome(queue, new Error("no answer came in time"));
      }
      return { status: "confirmed" };
    } catch (error) {
      if (error instanceof UnsentError) continue;
      return failedOutcome(queue, error);
    }
  }
}

/** What became of a publish that ended with an error: without an answer it may have been made. */
export function failedOutcome(queue: string, error: unknown): PublishOutcome {
  if (!isAnswer(error)) return uncertainOutcome(queue, error);
  return failed(answered(`publish to '${queue}'`, error));
}

/** What the server said is the reason, word by word. */
function answered(doing: string, error: unknown): Error {
  const problem = connectionError(doing, error);
  if (problem instanceof ConnectionError && problem.fatal) return problem;
  return new BabelQueueError("publish_failed", `Cannot ${doing}: ${textOf(error)}`, {
    cause: error,
  });
}

const ABORTED: unique symbol = Symbol("aborted");

function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof ABORTED> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(ABORTED);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function failed(error: Error): PublishOutcome {
  return { status: "failed", error };
}

/** Its time was over before it was sent. */
export function unsentOutcome(queue: string): PublishOutcome {
  return failed(
    new BabelQueueError("publish_failed", `Cannot publish to '${queue}': its time is over`),
  );
}

/** Sent, and nothing heard. */
export function uncertainOutcome(queue: string, cause: unknown): PublishOutcome {
  const error = new PublishUncertainError(
    `Cannot confirm a publish to '${queue}': ${textOf(cause)}`,
    { cause },
  );
  return { status: "uncertain", error };
}

function unanswered(queue: string): PublishOutcome {
  return uncertainOutcome(queue, new Error("the transport gave no outcome"));
}
