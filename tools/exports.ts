/**
 * Checks the exports map against the tree: the same map in `deno.json` and `package.json`,
 * kebab-case names, files that exist, are published and carry a module doc, every entry in the
 * `doc` task, and no published file that the map does not reach.
 *
 * @module
 */

import { filesIn } from "./_files.ts";
import { readConfig, report, root } from "./_shell.ts";

const NAME = /^\.(\/[a-z0-9]+(-[a-z0-9]+)*)*$/;

const config = readConfig();
const npm = JSON.parse(Deno.readTextFileSync(`${root}package.json`));
const problems: string[] = [];

if (JSON.stringify(npm.exports) !== JSON.stringify(config.exports)) {
  problems.push("package.json and deno.json have different exports");
}
for (const field of ["name", "version", "license"] as const) {
  if (npm[field] !== (config as unknown as Record<string, unknown>)[field]) {
    problems.push(`package.json and deno.json have a different ${field}`);
  }
}

const published = (path: string): boolean =>
  config.publish.include.some((entry) =>
    entry.endsWith("/") ? path.startsWith(entry) : path === entry
  );

for (const [name, target] of Object.entries(config.exports)) {
  const path = target.replace(/^\.\//, "");
  if (!NAME.test(name)) problems.push(`${name}: not kebab-case`);
  const text = read(path);
  if (text === null) {
    problems.push(`${name}: ${path} does not exist`);
    continue;
  }
  if (!published(path)) problems.push(`${name}: ${path} is not in publish.include`);
  if (!/^\/\*\*(?:(?!\*\/)[^])*@module\b/.test(text)) {
    problems.push(`${name}: ${path} does not begin with a module doc (@module)`);
  }
  if (!config.tasks["doc"]?.split(" ").includes(path)) {
    problems.push(`${name}: ${path} is missing in the task 'doc'`);
  }
}

const reached = new Set<string>();
for (const target of Object.values(config.exports)) reach(target.replace(/^\.\//, ""));
const shipped = config.publish.include.flatMap((entry) =>
  entry.endsWith("/") ? filesIn(entry.slice(0, -1), ".ts") : entry.endsWith(".ts") ? [entry] : []
);
for (const path of shipped) {
  if (!reached.has(path)) problems.push(`${path}: published, but no export reaches it`);
}
for (const path of reached) {
  if (!published(path)) problems.push(`${path}: reached by an export, but not published`);
}
for (const entry of config.publish.include) {
  if (!exists(entry)) problems.push(`publish.include: ${entry} does not exist`);
}

report(problems, `${Object.keys(config.exports).length} exports, ${reached.size} files`);

function reach(path: string): void {
  if (reached.has(path)) return;
  const text = read(path);
  if (text === null) return void problems.push(`${path}: imported, but does not exist`);
  reached.add(path);
  const code = text.replace(/\/\*[^]*?\*\//g, "");
  for (const [, specifier = ""] of code.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)) {
    reach(new URL(specifier, `file:///${path}`).pathname.slice(1));
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
