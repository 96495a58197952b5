/**
 * Random histories of one queue, each step held against a model: two workers with clocks of their own,
 * batches, settles that travel with a reserve, extensions, crashes, duplicates, and in some a third
 * worker: one that does what Laravel's own scripts do, or Laravel itself, or the Python SDK.
 */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { LEGACY_DEAD_LETTER, LEGACY_WORK } from "../../transports/redis/_lua_legacy.ts";
import { ZSET_DEAD_LETTER, ZSET_WORK } from "../../transports/redis/_lua_zset.ts";
import { absentRedis, aroundFile, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { environment, test } from "../harness.ts";
import { absentLaravel, startLaravel } from "../interop/laravel.ts";
import type { Peer } from "../interop/peer.ts";
import { absentPython, startPython } from "../interop/python.ts";
import { Lab } from "./lab.ts";
import { histories, type History, RETRY_AFTER } from "./_model.ts";
import { Play } from "./_play.ts";
import { StockWorker } from "./_stock_laravel.ts";
import { PeerWorker, type ThirdWorker } from "./_third_worker.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
/** Histories of each kind. */
const RUNS = Number(environment("BQ_MODEL_RUNS") ?? "400");
/** Histories with a real worker of another implementation beside ours. */
const PEER_RUNS = Number(environment("BQ_MODEL_PEER_RUNS") ?? "100");
const NOW = 1_760_000_000;

/** Who takes part beside our two workers. */
interface Beside {
  /** How many histories. */
  readonly runs: number;
  /** Whether a third worker does. */
  readonly third: boolean;
  /** Whether a migration has a limit in some histories. */
  readonly limits: boolean;
  /** Where the clocks begin, in seconds. */
  now(): number;
  /** The third one, on a queue. */
  worker(lab: Lab, history: History): ThirdWorker;
}

const NOBODY: Beside = {
  runs: RUNS,
  third: false,
  limits: true,
  now: () => NOW,
  worker: (lab, { migrationBatchSize }) => new StockWorker(lab, migrationBatchSize),
};
const STOCK: Beside = { ...NOBODY, third: true };

/** A real worker: its clock is the machine's, and it migrates everything that is due. */
function beside(peer: () => Peer, recounts: boolean): Beside {
  return {
    runs: PEER_RUNS,
    third: true,
    limits: false,
    now: () => Math.floor(Date.now() / 1_000),
    worker: (lab) => new PeerWorker(peer(), lab, RETRY_AFTER, recounts),
  };
}

function modelTest(
  name: string,
  layout: "legacy" | "zset",
  { runs, third, limits, now, worker }: Beside,
  skip: boolean = ignore,
): void {
  test(name, async () => {
    // Tokens count up, so that equal deadlines are swept in the order of the reservations.
    let drawn = 0;
    const bytes = (length: number): Uint8Array => {
      const chance = new Uint8Array(length);
      const view = new DataView(chance.buffer);
      for (let at = 0; at < length; at += 16) view.setUint32(at + 12, drawn++);
      return chance;
    };
    await loadScripts();
    await fc.assert(
      fc.asyncProperty(histories(third, layout === "zset"), async (drawnHistory) => {
        drawn = 0;
        const history = limits ? drawnHistory : { ...drawnHistory, migrationBatchSize: -1 };
        const options = {
          layout,
          bytes,
          retryAfterMs: RETRY_AFTER * 1_000,
          migrationBatchSize: history.migrationBatchSize,
        };
        const first = await Lab.open(broker().port, options);
        const second = await Lab.open(broker().port, { ...options, queue: first.queue });
        try {
          const play = new Play([first, second], history, worker(first, history), now());
          await play.play(history.steps);
          await play.drain();
        } finally {
          await second.close();
          await first.close();
        }
      }),
      { numRuns: runs, interruptAfterTimeLimit: 240_000, markInterruptAsFailure: true },
    );
  }, { ignore: skip, timeoutMs: 300_000 });
}

/** A script that the server meets for the first time is sent twice, so that it comes later. */
async function loadScripts(): Promise<void> {
  const server = await RespClient.connect(broker().port);
  for (const { source } of [LEGACY_DEAD_LETTER, LEGACY_WORK, ZSET_DEAD_LETTER, ZSET_WORK]) {
    await server.call("SCRIPT", "LOAD", source);
  }
  await server.close();
}

modelTest("histories of the legacy layout are those of the model", "legacy", NOBODY);
modelTest("histories of the zset layout are those of the model", "zset", NOBODY);
modelTest(
  "histories of the zset layout beside Laravel's own scripts are those of the model",
  "zset",
  STOCK,
);

/** A peer of the file, on the server of the file. */
function peerOfFile(skip: boolean, start: (url: string) => Promise<Peer>): () => Peer {
  let peer: Peer | undefined;
  if (!skip) {
    aroundFile(
      async () => void (peer = await start(broker().url)),
      async () => await peer?.close(),
    );
  }
  return () => peer ?? assert.fail("no peer");
}

const noLaravel = ignore || await absentLaravel();
const noPython = ignore || await absentPython();
const laravel = peerOfFile(noLaravel, startLaravel);
modelTest(
  "histories of the zset layout beside real Laravel are those of the model",
  "zset",
  beside(laravel, false),
  noLaravel,
);
for (const layout of ["zset", "legacy"] as const) {
  const python = peerOfFile(noPython, (url) => startPython(url, layout));
  modelTest(
    `histories of the ${layout} layout beside the Python SDK are those of the model`,
    layout,
    beside(python, true),
    noPython,
  );
}
