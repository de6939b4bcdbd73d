import { stringsIn } from '#core';
import type { Definition, PinnedKind } from './definition.ts';
import { unseenIn, visible } from './visible.ts';

/** A suspicious finding in a definition, for a person to check. */
export type DefinitionFlag = {
  readonly kind: PinnedKind;
  /** Name of the item as the server wrote it. Empty for instructions. */
  readonly name: string;
  readonly flag: 'invisible_characters' | 'names_other_tool';
  /** Description of the finding, without invisible characters. */
  readonly text: string;
};

/** A definition with its kind and name. */
export type NamedDefinition = {
  readonly kind: PinnedKind;
  readonly name: string;
  readonly definition: Definition;
};

/** Maximum number of characters or tools that a finding names. */
const maxNamed = 5;

/** Returns suspicious findings in a server's definitions. `others`: tools of all other servers, with the server. */
export function flagsOf(
  definitions: readonly NamedDefinition[],
  others: ReadonlyMap<string, string>,
): readonly DefinitionFlag[] {
  const own = new Set(definitions.map(({ name }) => name));
  return definitions.flatMap(({ kind, name, definition }): readonly DefinitionFlag[] => {
    const texts = [name, ...stringsIn(definition.value)];
    const codes = [...new Set(texts.flatMap(unseenIn))];
    const named = [...new Set(texts.slice(1).flatMap(text => toolsIn(text, others)))].filter(
      tool => !own.has(tool),
    );
    const tools = named.map(tool => `${JSON.stringify(visible(tool))} of ${others.get(tool)}`);
    const found = (flag: DefinitionFlag['flag'], what: string, list: readonly string[]) =>
      list.length === 0
        ? []
        : [{ kind, name, flag, text: `${what}: ${list.slice(0, maxNamed).join(', ')}` }];
    return [
      ...found('invisible_characters', 'contains invisible or bidirectional characters', codes),
      ...found('names_other_tool', 'names tools of other servers', tools),
    ];
  });
}

/** Words such as `send_email` or `sendEmail`. Other words count only in quotes: many tools are called "search". */
const compound = /^(?:\w+[_.-]\w[\w.-]*|[a-z\d]+[A-Z]\w*)$/;

function toolsIn(text: string, others: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  for (const { 0: word, index } of text.matchAll(/\w[\w.-]*\w/g)) {
    if (!others.has(word)) continue;
    const isQuoted =
      /["'`]/.test(text[index - 1] ?? '') && /["'`]/.test(text[index + word.length] ?? '');
    if (isQuoted || compound.test(word)) found.push(word);
  }
  return found;
}
