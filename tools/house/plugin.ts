/**
 * The rules of the house as a `deno lint` plugin: which room may import which, who may tell time,
 * and what a file may look like.
 *
 * @module
 */

import { layers } from "./layers.ts";
import { files, portable, purity } from "./shape.ts";
import { time } from "./time.ts";

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: { layers, time, files, purity, portable },
};

export default plugin;
