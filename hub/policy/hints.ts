import { isObject } from '#core';

/** The hints of MCP about what a tool does. They are claims of its server. */
export const hintNames = [
  'readOnlyHint',
  'destructiveHint',
  'idempotentHint',
  'openWorldHint',
] as const;

export type Hints = Readonly<Record<(typeof hintNames)[number], boolean>>;

/**
 * The hints of a tool by its `annotations`, with the defaults of MCP for absent ones: a tool writes, destroys, does
 * more if it is called twice, and reaches other systems. A tool that only reads destroys nothing.
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
