import { isObject } from '#core';

/** Annotations of MCP that describe what a tool does. They are claims of its server. */
export const hintNames = [
  'readOnlyHint',
  'destructiveHint',
  'idempotentHint',
  'openWorldHint',
] as const;

export type Hints = Readonly<Record<(typeof hintNames)[number], boolean>>;

/**
 * Returns the hints in the `annotations` of a tool, with MCP's defaults for absent hints: a tool writes, is
 * destructive, is not idempotent, and reaches other systems. A read-only tool is not destructive.
 */
export function hintsOf(annotations: unknown): Hints {
  const said = isObject(annotations) ? annotations : {};
  const readOnlyHint = said['readOnlyHint'] === true;
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && said['destructiveHint'] !== false,
    idempotentHint: said['idempotentHint'] === true,
    openWorldHint: said['openWorldHint'] !== false,
  };
}
