/**
 * Makes the npm form of every package and proves it: packed, installed together into an empty
 * project, type-checked there, and used from Bun and Node. Leaves the tarballs in `.out/`.
 *
 * @module
 */

import { type Runtime, runtimePath } from "../tests/harness.ts";
import { must, npmForm } from "./_npm_form.ts";
import { deno, type Package, packages, report, root, run, type RunOptions } from "./_shell.ts";

/** No import of `node:assert`, so that the type check needs no types of Node. */
const PROGRAM = `
import { BabelQueue, memory } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { fakeClock } from "@bq/core/testing";
import type { Transport } from "@bq/core/transport";

const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
const seen: unknown[] = [];
bq.handle("urn:babel:orders:created", (order) => void seen.push(order));
await bq.publish("urn:babel:orders:created", { order_id: 1042 });
const { handled }: { readonly handled: number } = await bq.consume({ waitMs: 0 });
await bq.close();
console.log(JSON.stringify({ handled, seen, entries: [typeof shutdownSignal, typeof fakeClock] }));
`;
const PRINTED = `{"handled":1,"seen":[{"order_id":1042}],"entries":["function","function"]}`;

/** How a transport is made of each broker's package; none connects before it is used. */
const FACTORIES: Readonly<Record<string, string>> = {
  "@bq/redis": `redis("redis://127.0.0.1:1/0")`,
  "@bq/rabbitmq": `rabbitmq("amqp://127.0.0.1:1")`,
  "@bq/kafka": `kafka("kafka://127.0.0.1:1")`,
  "@bq/artemis": `artemis("artemis://127.0.0.1:1")`,
};

const [, ...members] = packages();
const problems: string[] = [];
const scratch = await Deno.makeTempDir({ prefix: "bq-pack-" });
const project = `${scratch}/project`;
try {
  await Deno.mkdir(`${root}.out`, { recursive: true });
  const tarballs: string[] = [];
  for (const item of packages()) {
    const packed = await npmForm(item, scratch);
    tarballs.push(packed.tarball);
    problems.push(...packed.problems);
  }
  await install(tarballs);
  await use();
} finally {
  await Deno.remove(scratch, { recursive: true });
}
const names = packages().map(({ config }) => config.name).join(", ");
report(problems, `${names}: installed from their tarballs, they work on Bun and Node`);

async function install(tarballs: readonly string[]): Promise<void> {
  await Deno.mkdir(project);
  await Deno.writeTextFile(`${project}/package.json`, `{ "type": "module", "private": true }\n`);
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs];
  let installed = await run("npm", args, { cwd: project });
  if (installed.code === 127) {
    installed = await deno(["run", "-A", "npm:npm@11", ...args], { cwd: project });
  }
  must("install", installed);
}

async function use(): Promise<void> {
  await Deno.writeTextFile(`${project}/main.ts`, `${PROGRAM}${members.map(using).join("")}`);
  const printed = [PRINTED, ...members.map(({ config }) => `${config.name} works`)];
  const options: RunOptions = { cwd: project, timeoutMs: 60_000 };
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
    const missing = printed.filter((line) => !output.includes(line));
    if (code !== 0 || missing.length > 0) problems.push(`${runtime}: ${output}`);
  }
}

/** Code that makes one broker's transport, and an App of it that never connects. */
function using({ config: { name } }: Package): string {
  const call = FACTORIES[name];
  if (call === undefined) {
    problems.push(`${name}: the tool does not say how its transport is made`);
    return "";
  }
  const factory = call.slice(0, call.indexOf("("));
  return `
import { ${factory} } from "${name}";
const ${factory}Transport: Transport = ${call};
await new BabelQueue(${factory}Transport).close();
console.log("${name} works");
`;
}
