import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { child, requireOrSkip, runtimePath, test } from "../harness.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = `${root}.out/workerd_suite`;
const workerd = [
  "node_modules/@cloudflare/workerd-linux-64/bin/workerd",
  "node_modules/.bin/workerd",
].map((path) => root + path).find((path) => existsSync(path));

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = ( services = [ (name = "main", worker = .main) ] );
const main :Workerd.Worker = (
  modules = [ (name = "worker", esModule = embed "worker.js") ],
  compatibilityDate = "2026-01-01"
);
`;

const ignore = requireOrSkip("workerd", workerd !== undefined, "run 'npm ci'") ||
  requireOrSkip("bun", runtimePath("bun") !== null, "run 'npm ci'");

test("the transport suite holds for memory inside workerd", async () => {
  mkdirSync(out, { recursive: true });
  const program = "tests/transports/_workerd.ts";
  const bundled = await child("bun", ["build", program, "--outfile", `${out}/worker.js`]);
  assert.equal(bundled.code, 0, bundled.stderr);
  writeFileSync(`${out}/config.capnp`, CONFIG);
  const args = ["test", `${out}/config.capnp`];
  const ended = spawnSync(workerd ?? "", args, { encoding: "utf8", env: {}, timeout: 90_000 });
  assert.equal(ended.status, 0, ended.stdout + ended.stderr);
}, { ignore, timeoutMs: 120_000 });
