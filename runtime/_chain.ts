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
    let called = false;
    await middleware(ctx, () => {
      if (called) return Promise.reject(new Error("next() was called twice by one middleware"));
      called = true;
      return step(index + 1);
    });
  };
  await step(0);
}
