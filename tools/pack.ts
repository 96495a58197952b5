/**
 * Makes the npm form of the package and proves it: packed by `deno pack`, completed with the fields
 * that npm readers expect, installed into an empty project, type-checked there, and used from Bun
 * and Node. Leaves the tarball in `.out/`.
 *
 * @module
 */

import { type Runtime, runtimePath } from "../tests/harness.ts";
import { deno, type Finished, packages, report, root, run, type RunOptions } from "./_shell.ts";

/** No import of `node:assert`, so that the type check needs no types of Node. */
const PROGRAM = `
import { BabelQueue, memory } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { fakeClock } from "@bq/core/testing";

const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
const seen: unknown[] = [];
bq.handle("urn:babel:orders:created", (order) => void seen.push(order));
await bq.publish("urn:babel:orders:created", { order_id: 1042 });
const { handled }: { readonly handled: number } = await bq.consume({ waitMs: 0 });
await bq.close();
console.log(JSON.stringify({ handled, seen, entries: [typeof shutdownSignal, typeof fakeClock] }));
`;
const PRINTED = `{"handled":1,"seen":[{"order_id":1042}],"entries":["function","function"]}`;

const [main] = packages();
if (main === undefined) throw new Error("Cannot find the root package");
const { config } = main;
const npmFields = JSON.parse(await Deno.readTextFile(`${root}package.json`));
const tarball = `${root}.out/${
  config.name.replace("@", "").replace("/", "-")
}-${config.version}.tgz`;
const problems: string[] = [];
const folder = await Deno.makeTempDir({ prefix: "bq-pack-" });
try {
  await pack();
  await install();
  await use();
} finally {
  await Deno.remove(folder, { recursive: true });
}
report(problems, `${tarball.slice(root.length)} works on Bun and Node`);

/** Packs, and writes what `deno pack` leaves out into the tarball's package.json. */
async function pack(): Promise<void> {
  await Deno.mkdir(`${root}.out`, { recursive: true });
  const raw = `${folder}/raw.tgz`;
  must("pack", await deno(["pack", "--allow-dirty", "--no-source-maps", "--output", raw]));
  must("unpack", await run("tar", ["xzf", raw, "-C", folder]));
  const path = `${folder}/package/package.json`;
  const { description, engines } = npmFields;
  const packed = JSON.parse(await Deno.readTextFile(path));
  if (Object.keys(packed.dependencies ?? {}).length > 0) {
    problems.push(`the core depends on ${Object.keys(packed.dependencies).join(", ")}`);
  }
  const complete = { ...packed, description, engines, sideEffects: false };
  await Deno.writeTextFile(path, JSON.stringify(complete, null, 2) + "\n");
  must("pack again", await run("tar", ["czf", tarball, "-C", folder, "package"]));
}

async function install(): Promise<void> {
  const project = `${folder}/project`;
  await Deno.mkdir(project);
  await Deno.writeTextFile(`${project}/package.json`, `{ "type": "module", "private": true }\n`);
  await Deno.writeTextFile(`${project}/main.ts`, PROGRAM);
  const args = ["install", "--offline", "--no-audit", "--no-fund", tarball];
  let installed = await run("npm", args, { cwd: project });
  if (installed.code === 127) {
    installed = await deno(["run", "-A", "npm:npm@11", ...args], { cwd: project });
  }
  must("install", installed);
}

async function use(): Promise<void> {
  const options: RunOptions = { cwd: `${folder}/project`, timeoutMs: 60_000 };
  const checked = await deno(["check", "--node-modules-dir=manual", "main.ts"], options);
  if (checked.code !== 0) problems.push(`types: ${checked.output}`);
  const runtimes: readonly Runtime[] = ["bun", "node22", "node24"];
  for (const runtime of runtimes) {
    const program = runtimePath(runtime);
    if (program === null) {
      problems.push(`${runtime}: not installed`);
      continue;
    }
    const { code, output } = await run(program, ["main.ts"], options);
    if (code !== 0 || !output.includes(PRINTED)) problems.push(`${runtime}: ${output}`);
  }
}

function must(what: string, { code, output }: Finished): void {
  if (code !== 0) throw new Error(`Cannot ${what}: ${output}`);
}
