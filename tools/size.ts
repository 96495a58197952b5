/**
 * Measures what the codec costs a browser or an edge function: bundled, minified and gzipped. Fails
 * above the budget.
 *
 * @module
 */

import { deno, report, root } from "./_shell.ts";

const BUDGET = 12 * 1024;
const ENTRY = "core/mod.ts";

const bundle = `${root}.out/codec.min.js`;
await Deno.mkdir(`${root}.out`, { recursive: true });
const { code, output } = await deno([
  "bundle",
  "--platform",
  "browser",
  "--minify",
  "--output",
  bundle,
  ENTRY,
]);
if (code !== 0) throw new Error(`Cannot bundle ${ENTRY}: ${output}`);

const minified = await Deno.readFile(bundle);
const gzip = new Blob([minified]).stream().pipeThrough(new CompressionStream("gzip"));
const gzipped = new Uint8Array(await new Response(gzip).arrayBuffer());
const sizes = `${ENTRY}: ${minified.length} bytes minified, ${gzipped.length} gzipped`;
report(
  gzipped.length > BUDGET ? [`${sizes}, above the budget of ${BUDGET}`] : [],
  `${sizes}, budget ${BUDGET}`,
);
