/** Looks for files in the repository. */

import { root } from "./_shell.ts";

/** Never looked into. */
const IGNORED: readonly string[] = ["node_modules", ".git", ".out", "coverage"];

/**
 * Files below a folder whose names end in `ending`, sorted, as paths from the repository's root.
 * A folder that does not exist has none; the empty name is the root itself.
 */
export function filesIn(folder: string, ending: string): string[] {
  const start = folder === "" ? root.slice(0, -1) : root + folder;
  return filesBelow(start, ending).map((path) => path.slice(root.length));
}

/** The same for a folder anywhere, as absolute paths. */
export function filesBelow(folder: string, ending: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return IGNORED.includes(entry.name) ? [] : filesBelow(path, ending);
    return entry.name.endsWith(ending) ? [path] : [];
  }).sort();
}
