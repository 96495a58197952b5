/** Time and chance come from the clock and the transport's context, so that a test can own them. */

import { place, WEB_ONLY, within } from "./rooms.ts";

const ROOMS = [...WEB_ONLY, "transports"].filter((room) => room !== "testing");
const EXEMPT = "core/clock.ts";
const MESSAGE = "time and chance come from core/clock.ts and the transport's context";

/** No clock, timer or random number of its own. */
export const time: Deno.lint.Rule = {
  create(context) {
    const here = place(context.filename);
    if (!within(here.room, ROOMS) || here.path === EXEMPT) return {};
    const report = (node: Deno.lint.Node): void => context.report({ node, message: MESSAGE });
    const visitor: Deno.lint.LintVisitor = {
      "MemberExpression[object.name='Date'][property.name='now']": report,
      "MemberExpression[object.name='Math'][property.name='random']": report,
      "MemberExpression[object.name='performance'][property.name='now']": report,
      "MemberExpression[object.name='AbortSignal'][property.name='timeout']": report,
      "CallExpression[callee.name=/^set(Timeout|Interval|Immediate)$/]": report,
      "MemberExpression[property.name=/^set(Timeout|Interval|Immediate)$/]": report,
      NewExpression(node) {
        const { callee } = node;
        if (callee.type === "Identifier" && callee.name === "Date" && node.arguments.length === 0) {
          report(node);
        }
      },
    };
    if (here.room.startsWith("transports/")) visitor["Identifier[name='crypto']"] = report;
    return visitor;
  },
};
