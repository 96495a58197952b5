/**
 * Computes every point of the JSR score that the repository decides, and fails when one is missing.
 * Provenance, the description and the runtime marks are set at the registry.
 *
 * @module
 */

import { deno, readConfig, report, root } from "./_shell.ts";

interface Declaration {
  readonly declarationKind: string;
  readonly kind: string;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly unknown[] };
  readonly def?: { readonly hasBody?: boolean };
}

interface Documented {
  readonly module_doc?: { readonly doc?: string };
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly Declaration[];
  }[];
}

const config = readConfig();
const entries = Object.entries(config.exports);
const problems: string[] = [];
let points = 0;
let most = 0;

function award(worth: number, earned: number, what: string): void {
  most += worth;
  points += earned;
  console.log(`${earned} of ${worth}  ${what}`);
  if (earned < worth) problems.push(`missing ${worth - earned}: ${what}`);
}

const docs = await Promise.all(entries.map(async ([, target]): Promise<Documented> => {
  const { code, stdout, output } = await deno(["doc", "--json", target]);
  if (code !== 0) throw new Error(`Cannot read the documentation of '${target}': ${output}`);
  const nodes: Documented[] = Object.values(JSON.parse(stdout).nodes);
  const [node] = nodes;
  if (node === undefined) throw new Error(`Cannot find the documentation of '${target}'`);
  return node;
}));

const main = entries.findIndex(([name]) => name === ".");
const mainDoc = docs[main]?.module_doc?.doc ?? "";
const readme = await Deno.readTextFile(`${root}README.md`).catch(() => "");
award(2, readme !== "" || mainDoc !== "" ? 2 : 0, "a README or a module doc of the main entry");
award(1, /^```/m.test(readme) || /^```/m.test(mainDoc) ? 1 : 0, "a code example in it");

const undocumented = entries.filter(([name], i) =>
  !docs[i]?.module_doc?.doc && !(name === "." && readme !== "")
).map(([name]) => name);
award(
  1,
  undocumented.length === 0 ? 1 : 0,
  `a module doc in every entry point${list(undocumented)}`,
);

const missing: string[] = [];
let total = 0;
docs.forEach(({ symbols }, i) => {
  for (const { name, declarations } of symbols) {
    // The registry counts every public declaration, save the implementation behind overloads.
    const overloaded = declarations.filter(({ kind }) => kind === "function").length > 1;
    for (const declaration of declarations) {
      if (declaration.declarationKind === "private") continue;
      if (overloaded && declaration.def?.hasBody === true) continue;
      total += 1;
      const { doc, tags } = declaration.jsDoc ?? {};
      if (!doc && !tags?.length) missing.push(`${entries[i]?.[0]}#${name}`);
    }
  }
});
const share = total === 0 ? 0 : (total - missing.length) / total;
award(
  5,
  Math.floor(5 * Math.min(1, share / 0.8)),
  `documented symbols: ${total - missing.length} of ${total}${list(missing)}`,
);

const dryRun = await deno(["publish", "--dry-run", "--allow-dirty"]);
if (dryRun.code !== 0) console.error(dryRun.output);
award(5, dryRun.code === 0 ? 5 : 0, "no slow types, as `deno publish --dry-run` sees them");

report(problems, `score: ${points} of the ${most} points that the repository decides`);

function list(names: readonly string[]): string {
  return names.length === 0 ? "" : ` (without: ${names.join(", ")})`;
}
