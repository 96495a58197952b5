/** Ends a wait when the signal is aborted, and takes the listener away when the wait ends. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: () => T,
): Promise<T> {
  if (signal === undefined) return await promise;
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) resolve();
  try {
    return await Promise.race([promise, aborted.then(otherwise)]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
