/** Where the tests of a suite play: one broker, with a scene for each test. */

import { type Proxy, type RunningBroker, startProxy } from "../brokers/mod.ts";
import { type Runtime, runtimePath, test } from "../harness.ts";
import type { BrokerScene } from "./_broker_scene.ts";

/** Tests of this folder may take so long, in milliseconds. */
export const TIMEOUT_MS = 240_000;

/** How one scene differs from the others of its stage. */
export interface Staging {
  /** Port that workers and publishers connect to; the broker's when absent. */
  readonly through?: number;
  /**
   * Whether leases outlast the test: what another worker handles was then given back, not recovered.
   * Nothing to a broker without leases.
   *
   * @default {false}
   */
  readonly longLeases?: boolean;
}

/** A broker, and how scenes are played on it. */
export interface Stage<S extends BrokerScene = BrokerScene> {
  /** Stands before the titles of its tests. */
  readonly name: string;
  /** Whether its tests are skipped. */
  readonly ignore: boolean;
  /** The broker, inside tests. */
  broker(): RunningBroker;
  /** Plays one scene and clears it away. */
  play(act: (scene: S) => Promise<void>, staging?: Staging): Promise<void>;
}

/** Registers a test that plays one scene; skipped where the runtime of its workers is absent. */
export function sceneTest<S extends BrokerScene>(
  stage: Stage<S>,
  title: string,
  act: (scene: S) => Promise<void>,
  { runtime, ...staging }: Staging & { readonly runtime?: Runtime } = {},
): void {
  const ignore = stage.ignore || (runtime !== undefined && runtimePath(runtime) === null);
  test(title, () => stage.play(act, staging), { ignore, timeoutMs: TIMEOUT_MS });
}

/** Registers a test whose workers and publishers connect through a proxy. */
export function proxyTest<S extends BrokerScene>(
  stage: Stage<S>,
  title: string,
  act: (scene: S, proxy: Proxy) => Promise<void>,
): void {
  test(`${stage.name}: ${title}`, async () => {
    const proxy = await startProxy(stage.broker().port);
    try {
      await stage.play((scene) => act(scene, proxy), { through: proxy.port });
    } finally {
      await proxy.close();
    }
  }, { ignore: stage.ignore, timeoutMs: TIMEOUT_MS });
}
