/**
 * The defaults that the source documents: `@default {value}` above an optional member of an interface.
 *
 * @module
 */

import { readFileSync } from "node:fs";

/** `Interface.member` to the text between the braces; null where an optional member has no default. */
export function documentedDefaults(path: string): Map<string, string | null> {
  const source = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const found = new Map<string, string | null>();
  let inside = "";
  let comment = "";
  for (const line of source.split("\n")) {
    inside = /^export interface (\w+)/.exec(line)?.[1] ?? (line === "}" ? "" : inside);
    if (line.trim() === "/**" || line.trim().startsWith("/** ")) comment = "";
    comment += `${line.trim()}\n`;
    const member = /^ {2}readonly (\w+)\?:/.exec(line)?.[1];
    if (inside === "" || member === undefined) continue;
    found.set(`${inside}.${member}`, /@default \{(.*)\}\n/.exec(comment)?.[1] ?? null);
  }
  return found;
}
