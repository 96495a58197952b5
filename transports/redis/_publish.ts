import {
  BabelQueueError,
  type Clock,
  failedOutcome,
  type Outgoing,
  type PublishOutcome,
  uncertainOutcome,
  unlessAborted,
} from "@bq/core/transport";
import { connectionError, isAnswer, UnsentError } from "./_errors.ts";
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
  const { layout, clock } = setup;
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
  return outcomes;
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
    if (signal.aborted) return unsentOutcome(queue);
    try {
      const sent = link.send(send).then((): PublishOutcome => ({ status: "confirmed" }));
      return await unlessAborted(sent, signal, () => unansweredOutcome(queue));
    } catch (error) {
      if (error instanceof UnsentError) continue;
      return outcomeOf(queue, error);
    }
  }
}

/** What became of a publish that ended with an error: without an answer it may have been made. */
export function outcomeOf(queue: string, error: unknown): PublishOutcome {
  const doing = `publish to '${queue}'`;
  if (!isAnswer(error)) return uncertainOutcome(doing, error);
  const problem = connectionError(doing, error);
  // What the server said is the reason, word by word.
  return problem.fatal ? failed(problem) : failedOutcome(doing, error);
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

/** Its time was over before it was answered. */
export function unansweredOutcome(queue: string): PublishOutcome {
  return uncertainOutcome(`publish to '${queue}'`, new Error("no answer came in time"));
}
