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
    await middleware(ctx, () => {
      if (inner) return Promise.reject(new Error("next() was called twice by one middleware"));
      open = true;
      inner = step(index + 1).finally(() => open = false);
      // Nobody may be waiting for it: that must not end the process.
      inner.catch(() => {});
      return inner;
    });
    // A middleware that did not wait for what it started must not have the message acknowledged.
    if (open) await inner;
  };
  await step(0);
}
