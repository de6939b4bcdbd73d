import type { ClientName } from './client.ts';

/** A client's text in the hub's syntax, or the variable in it that only the client knows. */
export type Converted =
  { readonly text: string; readonly isLiteral: boolean } | { readonly unknown: string };

/** The folders that variables of a client may refer to. */
export type ClientFolders = { readonly home: string; readonly folder: string };

/** The variable syntax of each client: `${NAME}`, `${env:NAME}`, or none. */
const syntaxes: Readonly<Record<ClientName, 'plain' | 'named' | 'none'>> = {
  'claude-code': 'plain',
  'claude-desktop': 'none',
  vscode: 'named',
  cursor: 'named',
  windsurf: 'named',
  codex: 'none',
  raycast: 'none',
};

const variablePattern = /\$\{([^{}]*)\}/g;
const plainName = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^]*)?$/;
const upperCaseName = /^[A-Z_][A-Z0-9_]*$/;

/**
 * Converts a client's text to the hub's syntax. `${NAME}` stays a variable; any other dollar sign is escaped
 * where needed.
 */
export function hubText(
  text: string,
  client: ClientName,
  { home, folder }: ClientFolders,
): Converted {
  const syntax = syntaxes[client];
  if (syntax === 'none') return { text: escapeDollars(text), isLiteral: true };
  let isLiteral = true;
  let unknown: string | undefined;
  let done = 0;
  const parts: string[] = [];
  for (const { 0: whole, 1: inside = '', index } of text.matchAll(variablePattern)) {
    const converted = convertVariable(inside, syntax, { home, folder });
    parts.push(escapeDollars(text.slice(done, index)));
    if (converted === undefined && syntax === 'named') unknown ??= whole;
    if (converted?.startsWith('${')) isLiteral = false;
    parts.push(converted ?? escapeDollars(whole));
    done = index + whole.length;
  }
  if (unknown !== undefined) return { unknown };
  return { text: parts.join('') + escapeDollars(text.slice(done)), isLiteral };
}

function convertVariable(
  inside: string,
  syntax: 'plain' | 'named',
  places: ClientFolders,
): string | undefined {
  if (syntax === 'plain') return plainName.test(inside) ? `\${${inside}}` : undefined;
  const [, name] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(inside) ?? [];
  if (name !== undefined || upperCaseName.test(inside)) return `\${${name ?? inside}}`;
  if (inside === 'userHome') return escapeDollars(places.home);
  return /^workspace(?:Folder|Root)$/.test(inside) ? escapeDollars(places.folder) : undefined;
}

/** Escapes dollar signs, so that the hub finds no variable in the text: `$$` is a literal dollar sign. */
const escapeDollars = (text: string) => text.replaceAll(/\$(?=[${])/g, () => '$$');
