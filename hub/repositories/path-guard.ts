import { compilePathPatterns } from './path-patterns.ts';
import type { ChangedFile, PathFault, PathRules } from './repository-types.ts';

const maxPathBytes = 1_024;
/** Maximum length of a file name in bytes on most file systems. */
const maxNameBytes = 255;

/** Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` there. The list is from git (utf8.c). */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Returns why a path must not be written, whatever the rules allow; undefined for a plain path. Refuses paths that lead
 * out of the folder or into a git folder on any system, or that turn a folder into a submodule. Pure.
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

/**
 * Returns a name as HFS+ and NTFS read it: without ignored characters, stream names, and dots and spaces at the end.
 */
const plainName = (name: string) =>
  name
    .replaceAll(ignoredByHfs, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '');

/** True for `.git` and its short name on NTFS, `git~1`. */
const isGitName = (name: string) => /^(?:\.git|git~\d+)$/.test(plainName(name));

/** Checks paths before they are written, and returns the faults; [] if all may be written. Pure. */
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

/** Checks changes that were already made, by anyone: their paths, and that no link or submodule is among them. Pure. */
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
