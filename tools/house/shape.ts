/** What a file may look like. */

import { place, SHIPPED, WEB_ONLY, within } from "./rooms.ts";

const LONGEST = 400;
const SNAKE_CASE = /^_?[a-z0-9]+(_[a-z0-9]+)*(\.bench|\.d)?\.ts$/;
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b/;

/** File names, lengths, unfinished work, default exports, and `mod.ts` that only re-exports. */
export const files: Deno.lint.Rule = {
  create(context) {
    const here = place(context.filename);
    const shipped = within(here.room, SHIPPED);
    return {
      Program(node) {
        const report = (message: string, at: Deno.lint.Node = node): void =>
          context.report({ node: at, message });
        if (!SNAKE_CASE.test(here.name)) report(`'${here.name}' is not snake_case`);
        const lines = context.sourceCode.text.trimEnd().split("\n").length;
        if (lines > LONGEST) report(`${lines} lines: split a file of more than ${LONGEST}`);
        for (const statement of node.body) {
          const exported = statement.type.startsWith("Export") ||
            statement.type.startsWith("Import");
          if (shipped && here.name === "mod.ts" && !exported) {
            report("mod.ts only re-exports", statement);
          }
          if (
            shipped && here.name === "mod.ts" &&
            statement.type === "ExportNamedDeclaration" && statement.declaration !== null
          ) {
            report("mod.ts only re-exports", statement);
          }
          if (shipped && statement.type === "ExportDefaultDeclaration") {
            report("no default exports", statement);
          }
        }
        for (const comment of context.sourceCode.getAllComments()) {
          if (UNFINISHED.test(comment.value)) {
            context.report({ range: comment.range, message: "finish it, or file an issue" });
          }
        }
      },
    };
  },
};

/** Importing a module does nothing: no statement with an effect, no state, at its top level. */
export const purity: Deno.lint.Rule = {
  create(context) {
    const here = place(context.filename);
    if (!within(here.room, WEB_ONLY) && !here.room.startsWith("transports/")) return {};
    return {
      Program(node) {
        for (const statement of node.body) {
          const declared = statement.type === "ExportNamedDeclaration"
            ? statement.declaration
            : statement;
          const type = declared?.type ?? "";
          if (/^(Expression|If|For|While|Try|Block|Switch|DoWhile|ForOf|ForIn)/.test(type)) {
            context.report({ node: statement, message: "an effect at import" });
          } else if (declared?.type === "VariableDeclaration" && declared.kind !== "const") {
            context.report({ node: statement, message: "state at module level" });
          }
        }
      },
    };
  },
};

/** What Node 22 cannot parse or does not have. */
export const portable: Deno.lint.Rule = {
  create(context) {
    const here = place(context.filename);
    if (!within(here.room, [...SHIPPED, "tests", "examples", "bench"])) return {};
    return {
      VariableDeclaration(node) {
        if (String(node.kind).includes("using")) {
          context.report({ node, message: "Node 22 cannot parse 'using'" });
        }
      },
      "MemberExpression[property.name=/^(to|from|setFrom)(Base64|Hex)$/]"(node: Deno.lint.Node) {
        context.report({ node, message: "Node 22 has no base64 and hex on Uint8Array" });
      },
    };
  },
};
