import { ConnectionError } from "../../core/errors.ts";
import type { Outgoing, PublishOutcome, SignalOptions } from "../../runtime/transport.ts";
import { stored } from "./_broker.ts";
import { LATE_MS, type Line } from "./_line.ts";
import { serialOf } from "./_message.ts";
import type { Host } from "./_world.ts";

/** Header of a raw publish that stands for a native schema version this library does not know. */
export const GATE_HEADER = "x-schema-version";

/** What the broker does with one message: `mute` stores it, or not, and does not say so. */
type Answer = "stores" | "refuses" | "mute" | "loses";

/** A publish on a connection: it rejects only when nothing was sent. */
export async function publish(
  { world }: Host,
  line: Line,
  queue: string,
  messages: readonly Outgoing[],
  { signal }: SignalOptions,
): Promise<readonly PublishOutcome[]> {
  const { faults, chance, broker } = world;
  if (faults.strikes("publish rejects")) throw new ConnectionError("nothing was sent");
  if (!line.up) throw new ConnectionError("the connection is down");
  if (signal?.aborted) throw new Error("called off before anything was sent");
  const error = new Error("the broker did not say");
  const answers = messages.map((): Answer => {
    if (faults.strikes("publish fails")) return "refuses";
    if (!faults.strikes("publish uncertain")) return "stores";
    return chance.hits(0.5) ? "mute" : "loses";
  });
  const deaf = chance.hits(0.3);
  const sent = line.ask(() => {
    messages.forEach(({ body, headers, delayMs }, i) => {
      const message = world.messages.get(serialOf(body));
      if (message === undefined || answers[i] === "refuses" || answers[i] === "loses") return;
      const gated = headers !== undefined && Object.hasOwn(headers, GATE_HEADER);
      broker.put(stored(message, queue, body.slice(), { gated }), delayMs ?? 0);
    });
  }, {
    deaf,
    ...(faults.strikes("publish hangs")
      ? { hangs: chance.pick(["before", "after"] as const) }
      : {}),
    ...(faults.strikes("publish late") ? { lateMs: chance.pick(LATE_MS) } : {}),
  });
  const outcomes = sent.then(
    () => answers.map((answer) => outcomeOf(answer, error)),
    (cause) => messages.map((): PublishOutcome => ({ status: "uncertain", error: cause })),
  );
  if (deaf || signal === undefined) return await outcomes;
  return await Promise.race([
    outcomes,
    new Promise<PublishOutcome[]>((resolve) => {
      const unsaid = (): void => resolve(messages.map(() => ({ status: "uncertain", error })));
      signal.addEventListener("abort", unsaid, { once: true });
    }),
  ]);
}

function outcomeOf(answer: Answer, error: Error): PublishOutcome {
  if (answer === "stores") return { status: "confirmed" };
  return { status: answer === "refuses" ? "failed" : "uncertain", error };
}
