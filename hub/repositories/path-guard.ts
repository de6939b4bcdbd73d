import { compilePathPatterns } from './path-patterns.ts';
import type { ChangedFile, PathFault, PathRules } from './repository-types.ts';

const maxPathBytes = 1_024;
/** Limit of most file systems. */
const maxNameBytes = 255;

/** Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` there. The list is that of git (utf8.c). */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Why a path must not be written, without regard to rules; undefined for a plain path. Pure. It refuses what leads out of
 * the folder, into a git folder on any system, or turns a folder into a submodule.
 */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > maxPathBytes) return `exceeds ${maxPathBytes} bytes`;
  if (!path.isWellFormed()) return 'is not valid Unicode';
  if (/\p{Cc}/u.test(path)) return 'has a control character';
  if (path.includes('\\')) return 'has a backslash: write "/" between folders';
  if (path.startsWith('/') || /^[a-z]:/i.test(path))
    return 'is absolute: name it relative to the top folder';
  const names = path.split('/');
  for (const name of names) {
    if (name === '') return 'has an empty part';
    if (name === '.' || name === '..') return `has the part "${name}"`;
    if (Buffer.byteLength(name) > maxNameBytes)
      return `has a name of more than ${maxNameBytes} bytes`;
    if (isGitName(name)) return `has the part "${name}", which is git's own`;
  }
  if (plainName(names.at(-1) ?? '') === '.gitmodules') return 'would define submodules';
  return undefined;
}

/** As HFS+ and NTFS see a name: without ignored characters, streams, and dots and spaces at the end. */
const plainName = (name: string) =>
  name
    .replaceAll(ignoredByHfs, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '');

/** `git~1` is the short name of `.git` on NTFS. */
const isGitName = (name: string) => /^(?:\.git|git~\d+)$/.test(plainName(name));

/** Checks paths that are about to be written. Pure. Empty: they may be. */
export function checkPaths(paths: readonly string[], rules: PathRules): readonly PathFault[] {
  const isAllowed = compilePathPatterns(rules.allowed, { ignoreCase: false });
  const isForbidden = compilePathPatterns(rules.forbidden, { ignoreCase: true });
  return paths.flatMap(path => {
    const fault =
      pathFault(path) ??
      (isForbidden(path) ? 'is forbidden (forbidden_paths)' : undefined) ??
      (rules.allowed.length > 0 && !isAllowed(path) ? 'is not in allowed_paths' : undefined);
    return fault === undefined ? [] : [{ path, why: fault }];
  });
}

/** Checks changes that were made already, whoever made them: the paths, and that no link or submodule is among them. Pure. */
export function checkChanges(
  changes: readonly ChangedFile[],
  rules: PathRules,
): readonly PathFault[] {
  const byPath = checkPaths(
    changes.map(({ path }) => path),
    rules,
  );
  const byMode = changes.flatMap(({ path, mode, status }) => {
    if (status === 'deleted' || (mode !== 'link' && mode !== 'submodule')) return [];
    return [{ path, why: mode === 'link' ? 'is a symbolic link' : 'is a submodule' }];
  });
  return [...byPath, ...byMode];
}
