/** A broker that goes away and comes back under a worker: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { eventually, type Runtime } from "../harness.ts";
import type { BrokerScene } from "./_broker_scene.ts";
import { sceneTest, type Stage } from "./_stage.ts";

const MESSAGES = 400;

/** What happens to the broker, once, while a worker is at work. */
export interface Blow<S extends BrokerScene = BrokerScene> {
  readonly title: string;
  readonly runtimes: readonly Runtime[];
  strike(scene: S): Promise<unknown>;
}

/** The blows that every broker is dealt. */
export interface Blows {
  /** @default {"restarted"} */
  readonly restarted?: string;
  /** How long it stays down after a kill, in milliseconds. @default {0} */
  readonly downMs?: number;
  readonly frozen: string;
  /** How long it is frozen, in milliseconds. @default {5000} */
  readonly frozenMs?: number;
}

/** A restart, which every runtime has to bear, a kill and a freeze. */
export function blowsTo(stage: Pick<Stage, "broker">, blows: Blows): Blow[] {
  const { restarted = "restarted", downMs = 0, frozen, frozenMs = 5_000 } = blows;
  return [
    {
      title: restarted,
      runtimes: ["deno", "bun", "node22"],
      strike: () => stage.broker().restart(),
    },
    {
      title: "killed and started again",
      runtimes: ["deno"],
      async strike() {
        await stage.broker().kill();
        await pass(downMs);
        await stage.broker().restart();
      },
    },
    {
      title: frozen,
      runtimes: ["deno"],
      async strike() {
        await stage.broker().pause();
        await pass(frozenMs);
        await stage.broker().resume();
      },
    },
  ];
}

function pass(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/** How brokers differ when they go away. */
export interface BrokerCrashes<S extends BrokerScene> {
  readonly blows: readonly Blow<S>[];
  /** The title of a test. @default a worker under which the broker is struck */
  titleOf?(blow: string, runtime: Runtime): string;
  readonly concurrency: number;
  /** How long every handler takes, in milliseconds. @default {10} */
  readonly handlerMs?: number;
  /** How many messages may be handled again: what was in flight, and nothing else. */
  readonly inFlight: number;
  /** Whether the first publish after the blow has to succeed. @default {false} */
  readonly publishesAtOnce?: boolean;
  /** Looks at the queue when it is empty and the worker still there. */
  check?(scene: S): Promise<void>;
}

/** Registers a test for each blow and runtime. */
export function brokerCrashTests<S extends BrokerScene>(
  stage: Stage<S>,
  crashes: BrokerCrashes<NoInfer<S>>,
): void {
  const {
    titleOf = (blow: string, runtime: Runtime): string =>
      `${stage.name} ${blow} under a worker on ${runtime}: it goes on by itself`,
  } = crashes;
  for (const { title, runtimes, strike } of crashes.blows) {
    for (const runtime of runtimes) {
      const act = (scene: S): Promise<void> => survive(scene, strike, runtime, crashes);
      sceneTest(stage, titleOf(title, runtime), act, { runtime });
    }
  }
}

async function survive<S extends BrokerScene>(
  scene: S,
  strike: Blow<S>["strike"],
  runtime: Runtime,
  { concurrency, handlerMs = 10, inFlight, publishesAtOnce = false, check }: BrokerCrashes<S>,
): Promise<void> {
  await scene.publish(0, MESSAGES);
  const worker = await scene.worker({ concurrency, handlerMs }, runtime);
  await worker.until(() => worker.done.size >= 40);
  await strike(scene);
  const before = worker.done.size;
  const more = (): Promise<void> => scene.publish(MESSAGES, MESSAGES + 20);
  await (publishesAtOnce ? more() : eventually(more));
  await scene.drained();
  assert.ok(worker.done.size > before);
  await check?.(scene);
  scene.assertInOrder(await worker.stop());
  const { lost, duplicates, dead } = await scene.outcome();
  assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
  assert.ok(duplicates.length <= inFlight, `${duplicates.length} of ${inFlight} duplicates`);
}
