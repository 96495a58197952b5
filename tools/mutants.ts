/**
 * Puts known faults into copies of the runtime, one at a time, and sees the simulation find each:
 * `deno task mutants`. `--seeds` bounds the search, `--only` takes the faults whose name holds a text.
 * It prints one row of a table for each, and fails when one is not found.
 *
 * @module
 */

import { type Mutant, MUTANTS } from "../tests/simulation/_mutants.ts";
import { deno, root } from "./_shell.ts";

/** What the simulation needs of the repository. */
const COPIED = ["core", "runtime", "transports", "tests/simulation", "tools/sim.ts", "deno.json"];

const option = (name: string): string | undefined => {
  const at = Deno.args.indexOf(name);
  return at < 0 ? undefined : Deno.args[at + 1];
};
const seeds = Number(option("--seeds") ?? 20_000);
const only = option("--only") ?? "";

const copy = await Deno.makeTempDir({ prefix: "bq-mutants-" });
let missed = 0;
try {
  for (const path of COPIED) await copyTree(`${root}${path}`, `${copy}/${path}`);
  console.log("| Fault | Seeds until found | Rule that finds it |\n| --- | ---: | --- |");
  for (const mutant of MUTANTS.filter(({ name }) => name.includes(only))) {
    const found = await find(mutant);
    if (found === null) missed++;
    console.log(
      `| ${mutant.name} | ${found?.seeds ?? `none in ${seeds}`} | ${found?.rule ?? ""} |`,
    );
  }
} finally {
  await Deno.remove(copy, { recursive: true });
}
if (missed > 0) console.error(`${missed} faults were not found`);
Deno.exit(missed === 0 ? 0 : 1);

async function find(mutant: Mutant): Promise<{ seeds: number; rule: string } | null> {
  const path = `${copy}/${mutant.file}`;
  const original = await Deno.readTextFile(path);
  if (original.split(mutant.text).length !== 2) {
    throw new Error(
      `Cannot make the fault '${mutant.name}': its text does not stand once in ${mutant.file}`,
    );
  }
  await Deno.writeTextFile(path, original.replace(mutant.text, () => mutant.instead));
  const args = [
    "run",
    "--no-check",
    "--allow-env=BQ_*",
    `${copy}/tools/sim.ts`,
    "--seeds",
    `${seeds}`,
  ];
  const { code, output } = await deno(args, { cwd: copy });
  await Deno.writeTextFile(path, original);
  if (code === 0) return null;
  const rule = /BROKEN +(.*?): /.exec(output)?.[1];
  const seed = /^seed (\d+) breaks/m.exec(output)?.[1];
  // A fault can also end the process, or never end.
  return { seeds: Number(seed ?? NaN), rule: rule ?? output.trim().split("\n").at(-1) ?? "" };
}

async function copyTree(from: string, to: string): Promise<void> {
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) {
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    return await Deno.copyFile(from, to);
  }
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copyTree(`${from}/${name}`, `${to}/${name}`);
  }
}
