import { runChain } from "./_chain.ts";
import type { Held } from "./_held.ts";
import { type ContextParts, type Handler, MessageContext, type Middleware } from "./context.ts";
import { type Dispatch, envelopeFor } from "./examine.ts";
import { validate } from "./message.ts";

/** What every handler of an App runs with. */
export interface HandlerRunner {
  /** Replaced as a whole when one is added. */
  middlewares: readonly Middleware[];
  readonly publish: ContextParts["publish"];
}

/**
 * Runs the handler of one message inside the middlewares, on validated data.
 *
 * @throws whatever the schema, a middleware or the handler throws.
 */
export function runHandler(
  runner: HandlerRunner,
  held: Held,
  { route, body }: Dispatch,
): Promise<void> {
  const { definition, handler } = route;
  const ctx = new MessageContext({
    urn: held.urn,
    queue: held.delivery.queue,
    messageId: held.messageId,
    traceId: held.traceId,
    attempt: held.subject().attempt,
    headers: held.delivery.headers,
    readEnvelope: () => envelopeFor(body, held),
    signal: () => held.signal(),
    publish: runner.publish,
  });
  const run = async (): Promise<void> => {
    const data: unknown = definition === undefined
      ? body.data
      : await validate(definition, body.data);
    // A schema or a middleware took too long: the message is settled or lost already.
    if (held.aborted) throw held.aborted;
    await (handler as Handler<unknown>)(data, ctx);
  };
  const { middlewares } = runner;
  return middlewares.length === 0 ? run() : runChain(middlewares, ctx, run);
}
