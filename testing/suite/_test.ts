import type { World } from "./_world.ts";

/** One test of the suite. */
export interface SuiteTest {
  /** What it shows; unique. */
  readonly title: string;
  /** Ability of the harness without which it is not registered. */
  readonly needs?: "restartBroker" | "failWrites" | "expireLease" | "versionGate";
  /** Runs it. */
  run(world: World): Promise<void>;
}
