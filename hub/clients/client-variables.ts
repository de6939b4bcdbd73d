import type { ClientName } from './client.ts';

/** What a text of a client stands for in the hub's config, or what the hub cannot know of it. */
export type Converted =
  { readonly text: string; readonly isLiteral: boolean } | { readonly unknown: string };

/** What places in a text of a client may stand for. */
export type Places = { readonly home: string; readonly folder: string };

/** How clients write a variable: `${NAME}`, `${env:NAME}`, or not at all. */
const syntaxes: Readonly<Record<ClientName, 'plain' | 'named' | 'none'>> = {
  'claude-code': 'plain',
  'claude-desktop': 'none',
  vscode: 'named',
  cursor: 'named',
  windsurf: 'named',
  codex: 'none',
  raycast: 'none',
};

const mark = /\$\{([^{}]*)\}/g;
const plain = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^]*)?$/;
const capitals = /^[A-Z_][A-Z0-9_]*$/;

/** A text as the hub's config says the same. `${NAME}` stays one, and any other dollar sign stays a dollar sign. */
export function hubText(text: string, client: ClientName, { home, folder }: Places): Converted {
  const syntax = syntaxes[client];
  if (syntax === 'none') return { text: literally(text), isLiteral: true };
  let isLiteral = true;
  let unknown: string | undefined;
  let done = 0;
  const parts: string[] = [];
  for (const { 0: whole, 1: inside = '', index } of text.matchAll(mark)) {
    const said = reference(inside, syntax, { home, folder });
    parts.push(literally(text.slice(done, index)));
    if (said === undefined && syntax === 'named') unknown ??= whole;
    if (said?.startsWith('${')) isLiteral = false;
    parts.push(said ?? literally(whole));
    done = index + whole.length;
  }
  if (unknown !== undefined) return { unknown };
  return { text: parts.join('') + literally(text.slice(done)), isLiteral };
}

function reference(inside: string, syntax: 'plain' | 'named', places: Places): string | undefined {
  if (syntax === 'plain') return plain.test(inside) ? `\${${inside}}` : undefined;
  const [, name] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(inside) ?? [];
  if (name !== undefined || capitals.test(inside)) return `\${${name ?? inside}}`;
  if (inside === 'userHome') return literally(places.home);
  return /^workspace(?:Folder|Root)$/.test(inside) ? literally(places.folder) : undefined;
}

/** A text in which the hub finds no variable: `$$` is its dollar sign before what would be one. */
const literally = (text: string) => text.replaceAll(/\$(?=[${])/g, () => '$$');
