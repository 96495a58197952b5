import type { HandlerContext, Middleware } from "./context.ts";

/** Runs `last` inside the middlewares, the first one outermost. */
export async function runChain(
  middlewares: readonly Middleware[],
  ctx: HandlerContext,
  last: () => unknown,
): Promise<void> {
  const step = async (index: number): Promise<void> => {
    const middleware = middlewares[index];
    if (middleware === undefined) {
      await last();
      return;
    }
    let inner: Promise<void> | undefined;
    let open = false;
    let ended = false;
    let misused: Error | undefined;
    try {
      await middleware(ctx, () => {
        if (inner || ended) {
          const when = inner ? "twice by one middleware" : "after its middleware had ended";
          misused = new Error(`next() was called ${when}`);
          return quiet(Promise.reject(misused));
        }
        open = true;
        inner = step(index + 1).finally(() => open = false);
        return quiet(inner);
      });
    } finally {
      // From here on the message is on its way back, and no handler may see it any more.
      ended = true;
      // The message is not done with before all that was started for it has ended.
      if (open) await inner;
    }
    if (misused) throw misused;
  };
  await step(0);
}

/** Nobody may be waiting for it, and that must not end the process. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
