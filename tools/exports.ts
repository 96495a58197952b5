/**
 * Checks each package's exports map against the tree: the same map in `deno.json` and
 * `package.json`, kebab-case names, files that exist, are published and carry a module doc, every
 * entry in the `doc` task, and no published file that the map does not reach.
 *
 * @module
 */

import { filesIn } from "./_files.ts";
import { type Package, packages, report, root } from "./_shell.ts";

const NAME = /^\.(\/[a-z0-9]+(-[a-z0-9]+)*)*$/;

const all = packages();
const documented = all[0]?.config.tasks?.["doc"]?.split(" ") ?? [];
const problems: string[] = [];
let files = 0;
for (const item of all) checkPackage(item);
const count = all.reduce((sum, { entries }) => sum + entries.length, 0);
report(problems, `${all.length} packages, ${count} exports, ${files} files`);

function checkPackage({ config, folder, entries }: Package): void {
  const say = (problem: string): void => void problems.push(`${config.name}: ${problem}`);
  const include = (config.publish?.include ?? [""]).map((entry) => folder + entry);
  const published = (path: string): boolean =>
    include.some((entry) =>
      entry === "" || entry.endsWith("/") ? path.startsWith(entry) : path === entry
    );

  const npm = JSON.parse(read(`${folder}package.json`) ?? "{}");
  for (const field of ["name", "version", "license", "exports"] as const) {
    const own = (config as unknown as Record<string, unknown>)[field];
    if (JSON.stringify(npm[field]) !== JSON.stringify(own)) {
      say(`package.json and deno.json have a different ${field}`);
    }
  }

  const reached = new Set<string>();
  for (const [name, path] of entries) {
    if (!NAME.test(name)) say(`${name}: not kebab-case`);
    const text = read(path);
    if (text === null) {
      say(`${name}: ${path} does not exist`);
      continue;
    }
    if (!/^\/\*\*(?:(?!\*\/)[^])*@module\b/.test(text)) {
      say(`${name}: ${path} does not begin with a module doc (@module)`);
    }
    if (!documented.includes(path)) say(`${name}: ${path} is missing in the task 'doc'`);
    reach(path, reached, say);
  }
  files += reached.size;

  const shipped = include.flatMap((entry) =>
    entry.endsWith("/") ? filesIn(entry.slice(0, -1), ".ts") : entry.endsWith(".ts") ? [entry] : []
  );
  for (const path of shipped) {
    if (!reached.has(path)) say(`${path}: published, but no export reaches it`);
  }
  for (const path of reached) {
    if (!published(path)) say(`${path}: reached by an export, but not published`);
  }
  for (const entry of include) if (!exists(entry)) say(`publish.include: no ${entry}`);
}

function reach(path: string, reached: Set<string>, say: (problem: string) => void): void {
  if (reached.has(path)) return;
  const text = read(path);
  if (text === null) return say(`${path}: imported, but does not exist`);
  reached.add(path);
  const code = text.replace(/\/\*[^]*?\*\//g, "");
  for (const [, specifier = ""] of code.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)) {
    reach(new URL(specifier, `file:///${path}`).pathname.slice(1), reached, say);
  }
}

function read(path: string): string | null {
  return exists(path) ? Deno.readTextFileSync(root + path) : null;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(root + path);
    return true;
  } catch {
    return false;
  }
}
