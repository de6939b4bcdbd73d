/** Tells whether a path of a build context, with `/` between its parts, is left out. */
export type Ignore = (path: string) => boolean;

type Rule = { readonly pattern: RegExp; readonly isException: boolean };

/**
 * The rules of a .dockerignore: patterns of Go's `filepath.Match` with `**`, relative to the folder. The last one that
 * matches the path or a folder above it decides; `!` makes an exception.
 * https://docs.docker.com/build/concepts/context/#dockerignore-files
 */
export function createIgnore(lines: readonly string[]): Ignore {
  const rules = lines.flatMap(ruleOf);
  return path => {
    const parts = path.split('/');
    const prefixes = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    let isIgnored = false;
    for (const { pattern, isException } of rules)
      if (isIgnored === isException && prefixes.some(prefix => pattern.test(prefix)))
        isIgnored = !isException;
    return isIgnored;
  };
}

/** True if some rule makes an exception, so that a folder that is left out may contain files that are not. */
export const hasExceptions = (lines: readonly string[]): boolean =>
  lines.flatMap(ruleOf).some(({ isException }) => isException);

function ruleOf(line: string): readonly Rule[] {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return [];
  const isException = text.startsWith('!');
  const path = (isException ? text.slice(1) : text).trim();
  const parts = path.split('/').filter(part => part !== '' && part !== '.');
  if (parts.length === 0) return [];
  return [{ pattern: new RegExp(`^${sourceOf(parts)}$`, 's'), isException }];
}

/** `**` stands for any number of folders. */
function sourceOf(parts: readonly string[]): string {
  let source = '';
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part === '**') source += isLast ? '.+' : '(?:.*/)?';
    else source += partSource(part) + (isLast ? '' : '/');
  }
  return source;
}

const partSource = (part: string) =>
  part.replaceAll(/\*\*|\*|\?|\[\^?(?:\\.|[^\]\\])+\]|\\.|[^]/gsu, token => {
    if (token === '**') return '.*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (token.length > 2 && token.startsWith('[')) return token.replaceAll('/', '\\/');
    return escapeRegExp(token.length === 2 && token.startsWith('\\') ? token.slice(1) : token);
  });

const escapeRegExp = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
