import type { ToolSettings } from '#config';
import { type Edit, membersOf, setMembers, splice } from '#jsonrpc';

/** Names under which a server's tools are offered, by the names that the server itself gives them. */
type ToolNames = {
  readonly names: ReadonlyMap<string, string>;
  /**
   * Tools that could not be renamed, because another tool of the server has the new name. They keep their own names.
   */
  readonly taken: readonly { readonly name: string; readonly wanted: string }[];
};

/** Applies the renames of the config (`tools.rename`) to the tools of a server. */
export function renameTools(
  own: readonly string[],
  { rename = {} }: Pick<ToolSettings, 'rename'>,
): ToolNames {
  const wishes = new Map(
    own.flatMap(name => {
      const wanted = Object.hasOwn(rename, name) ? rename[name] : undefined;
      return wanted === undefined ? [] : [[name, wanted] as const];
    }),
  );
  const taken: { readonly name: string; readonly wanted: string }[] = [];
  for (let isSettled = false; !isSettled;) {
    const kept = new Set(own.filter(name => !wishes.has(name)));
    const refused = [...wishes].filter(([, wanted]) => kept.has(wanted));
    // A tool that keeps its name may thereby block another tool's new name.
    for (const [name, wanted] of refused) {
      wishes.delete(name);
      taken.push({ name, wanted });
    }
    isSettled = refused.length === 0;
  }
  return { names: new Map(own.map(name => [name, wishes.get(name) ?? name])), taken };
}

/** Returns the edits that set the name and the description of the config in the JSON of a tool. */
function toolEdits(
  bytes: Buffer,
  span: { readonly start: number; readonly end: number },
  own: string,
  shown: string,
  { describe = {} }: Pick<ToolSettings, 'describe'>,
): readonly Edit[] {
  const description = Object.hasOwn(describe, own) ? describe[own] : undefined;
  const members = membersOf(bytes, span);
  if (!members || (shown === own && description === undefined)) return [];
  return setMembers(span, members, {
    ...(shown !== own && { name: JSON.stringify(shown) }),
    ...(description !== undefined && { description: JSON.stringify(description) }),
  });
}

/** Returns the JSON of a tool with the name and the description of the config. */
export const renamedTool = (
  bytes: Buffer,
  own: string,
  shown: string,
  settings: Pick<ToolSettings, 'describe'>,
): Buffer => {
  const edits = toolEdits(bytes, { start: 0, end: bytes.length }, own, shown, settings);
  return edits.length === 0 ? bytes : splice(bytes, edits);
};
