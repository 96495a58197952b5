import type { Clock, Transport, Verdict } from "@bq/core";
import { SettleWriteError } from "@bq/core";

/** What goes wrong between the worker and a transport. */
export interface Faults {
  /** Whether the writes of records and retry copies fail. */
  writesFail: boolean;
  /** How far the transport's clock is ahead, in milliseconds. */
  aheadMs: number;
}

/** A transport with faults. */
export function faulty(inner: Transport, faults: Faults): Transport {
  const shifted = (clock: Clock): Clock => ({
    now: () => clock.now() + faults.aheadMs,
    elapsed: () => clock.elapsed() + faults.aheadMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
  });
  const writes = ({ kind }: Verdict): boolean => kind === "deadLetter" || kind === "retry";
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    policy: inner.policy,
    open: (context, options) => inner.open({ ...context, clock: shifted(context.clock) }, options),
    publish: (queue, messages, options) => inner.publish(queue, messages, options),
    async subscribe(queue, options) {
      const subscription = await inner.subscribe(queue, options);
      return {
        lanes: subscription.lanes,
        receive: (max, waitMs) => subscription.receive(max, waitMs),
        async settle(delivery, verdict) {
          if (faults.writesFail && writes(verdict)) {
            throw new SettleWriteError(`Cannot write to '${queue}': the fault is on`);
          }
          return await subscription.settle(delivery, verdict);
        },
        extend: (delivery) => subscription.extend!(delivery),
        close: (closing) => subscription.close(closing),
      };
    },
    peek: (queue, options) => inner.peek!(queue, options),
    size: (queue) => inner.size!(queue),
    close: (options) => inner.close(options),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}
