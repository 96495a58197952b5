import { NonRetriableError, RetryAfterError } from "../../core/errors.ts";
import type { HandlerContext } from "../../runtime/context.ts";
import type { Handed } from "./_handed.ts";
import type { Process } from "./_process.ts";

/**
 * What a handler of `process` does with one message: mostly it takes a moment and returns. The faults
 * of the history make it fail in every way that user code can.
 */
export function handle(
  process: Process,
  data: object,
  ctx: HandlerContext,
  timeoutMs: number,
): unknown {
  const { world, transport } = process;
  const { chance, faults, time } = world;
  const [subscription, handed] = transport.find(ctx.headers);
  const call = transport.rules.handlerStarts(subscription, handed, ctx.attempt, timeoutMs);
  const { message } = handed.item;
  if ((data as { serial?: unknown }).serial !== message.serial) {
    transport.rules.broken("a handler gets the data of its message", String(handed));
  }
  const end = (state: "returned" | "threw", error?: unknown): void => {
    call.state = state;
    call.final = error instanceof NonRetriableError;
    call.endedAtMs = time.nowMs;
    call.endedInStep = time.steps;
    if (state === "returned") message.handled++;
    if (process.alive) world.log.step(process.name, `handler of ${handed} ${state} ${text(error)}`);
  };
  if (faults.strikes("handler blocks")) time.block(chance.pick([1, 40, 400, 3_000]));
  if (chance.hits(0.2)) return work(process, end);
  return later(process, ctx, handed, end);
}

/** A handler without an await. */
function work(
  process: Process,
  end: (state: "returned" | "threw", error?: unknown) => void,
): void {
  const failure = failureOf(process);
  if (failure) {
    end("threw", failure.error);
    throw failure.error;
  }
  end("returned");
}

async function later(
  process: Process,
  ctx: HandlerContext,
  handed: Handed,
  end: (state: "returned" | "threw", error?: unknown) => void,
): Promise<void> {
  const { transport, world: { chance, faults, time } } = process;
  try {
    await process.wait(chance.pick([0, 0, 1, 10, 80, 400]));
    if (faults.strikes("handler publishes")) await process.publisher.inside(ctx);
    if (faults.strikes("handler stops")) await process.stop();
    if (faults.strikes("handler closes")) await process.close();
    if (faults.strikes("handler hangs")) await new Promise(() => {});
    const deaf = faults.strikes("handler deaf");
    if (deaf || faults.strikes("handler slow")) {
      // A deaf handler never looks at its signal.
      const signal = deaf ? undefined : ctx.signal;
      await process.wait(chance.pick([20, 300, 4_000, 40_000]), signal);
      if (signal && !signal.aborted && handed.takenAway(time)) {
        transport.rules.broken("a handler is told when its message is taken away", String(handed));
      }
      signal?.throwIfAborted();
    }
    const failure = failureOf(process);
    if (failure) throw failure.error;
  } catch (error) {
    end("threw", error);
    throw error;
  }
  end("returned");
}

function failureOf({ world }: Process): { error: unknown } | null {
  const { chance, faults } = world;
  if (faults.strikes("handler throws")) return { error: new Error("the handler failed") };
  if (faults.strikes("handler throws odd")) {
    return { error: chance.pick(["a text", undefined, null, 0, Object.create(null)]) };
  }
  if (faults.strikes("handler gives up")) return { error: new NonRetriableError("hopeless") };
  if (faults.strikes("handler postpones")) {
    return { error: new RetryAfterError(chance.pick([0, 50, 2_000, 100_000]), "not now") };
  }
  return null;
}

function text(error: unknown): string {
  if (error instanceof Error) return error.name;
  return error === undefined ? "" : typeof error;
}
