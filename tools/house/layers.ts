/** Imports go down the house only: `cli → transports → runtime → core`. */

import { place, SHIPPED, WEB_ONLY, within } from "./rooms.ts";

/** The rooms each room may import from, beside itself. A room that is not listed may import all. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  core: [],
  runtime: ["core"],
  process: [],
  outbox: ["core"],
  otel: ["core"],
  gdpr: ["core"],
  idempotency: ["core"],
  schema: ["core"],
  redrive: ["core"],
  testing: ["core", "runtime", "transports/memory", "mod.ts"],
  "transports/memory": ["core", "runtime"],
  transports: [],
};

/** Which room may import which. */
export const layers: Deno.lint.Rule = {
  create(context) {
    const from = place(context.filename);
    if (!within(from.room, SHIPPED)) return {};
    const below = BELOW[from.room] ??
      (from.room.startsWith("transports/") ? BELOW["transports"] : undefined);

    const judge = (specifier: string): string | null => {
      if (/^(npm|jsr|https?|file):/.test(specifier)) {
        return `import by a bare name or a relative path, not by '${specifier}'`;
      }
      if (specifier.startsWith("node:")) {
        return within(from.room, WEB_ONLY) ? `'${specifier}' in a web-only room` : null;
      }
      if (!specifier.startsWith(".")) {
        if (specifier === "@bq/core" || specifier.startsWith("@bq/core/")) {
          if (within(from.room, WEB_ONLY)) return "inside the package, import relatively";
          const root = from.room.startsWith("transports/") && specifier === "@bq/core";
          return root ? "a transport imports from '@bq/core/transport' alone" : null;
        }
        return from.room === "core" || from.room === "runtime"
          ? `'${specifier}': ${from.room}/ has no dependencies`
          : null;
      }
      const path = new URL(specifier, `file:///${from.path}`).pathname.slice(1);
      const to = place(path);
      if (!path.endsWith(".ts")) return `'${specifier}' does not name a .ts file`;
      if (!within(to.room, SHIPPED)) return `published code may not import ${to.room}/`;
      if (to.room === from.room || from.room === "mod.ts") return null;
      if (to.name.startsWith("_")) return `'${specifier}' is private to ${to.room}/`;
      if (below !== undefined && !below.includes(to.room)) {
        return `${from.room}/ may not import ${to.room === "mod.ts" ? path : `${to.room}/`}`;
      }
      return null;
    };

    const check = (node: Deno.lint.Node, source: unknown): void => {
      const specifier = (source as { value?: unknown } | null | undefined)?.value;
      if (typeof specifier !== "string") return;
      const problem = judge(specifier);
      if (problem !== null) context.report({ node, message: problem });
    };
    return {
      ImportDeclaration: (node) => check(node, node.source),
      ExportNamedDeclaration: (node) => check(node, node.source),
      ExportAllDeclaration: (node) => check(node, node.source),
      ImportExpression: (node) => check(node, node.source),
    };
  },
};
