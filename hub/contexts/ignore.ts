/** Paths have `/` between their parts. */
export type Ignore = {
  /** True if a file or folder of a build context is left out. */
  readonly ignores: (path: string) => boolean;
  /** True if a folder that is left out may contain files that are not. */
  readonly mayExceptBelow: (folder: string) => boolean;
};

type Rule = {
  readonly parts: readonly string[];
  readonly pattern: RegExp;
  readonly isException: boolean;
};

/**
 * The rules of a .dockerignore: patterns of Go's `filepath.Match` with `**`, relative to the folder. The last one that
 * matches the path or a folder above it decides; `!` makes an exception.
 * https://docs.docker.com/build/concepts/context/#dockerignore-files
 */
export function createIgnore(lines: readonly string[]): Ignore {
  const rules = lines.flatMap(ruleOf);
  const exceptions = rules.filter(({ isException }) => isException);
  function ignores(path: string): boolean {
    const parts = path.split('/');
    const prefixes = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    let isIgnored = false;
    for (const { pattern, isException } of rules)
      if (isIgnored === isException && prefixes.some(prefix => pattern.test(prefix)))
        isIgnored = !isException;
    return isIgnored;
  }
  return {
    ignores,
    mayExceptBelow: folder => exceptions.some(({ parts }) => leadsBelow(parts, folder.split('/'))),
  };
}

/** True if a path below the folder may match the pattern. */
function leadsBelow(parts: readonly string[], folder: readonly string[]): boolean {
  for (const [index, name] of folder.entries()) {
    const part = parts[index];
    if (part === '**') return true;
    if (part === undefined || !new RegExp(`^${partSource(part)}$`, 's').test(name)) return false;
  }
  return parts.length > folder.length;
}

function ruleOf(line: string): readonly Rule[] {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return [];
  const isException = text.startsWith('!');
  const path = (isException ? text.slice(1) : text).trim();
  const parts = path.split('/').filter(part => part !== '' && part !== '.');
  if (parts.length === 0) return [];
  return [{ parts, pattern: new RegExp(`^${sourceOf(parts)}$`, 's'), isException }];
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
