import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import type { FileOutline } from '../outline/outline-types.ts';
import type { Manifests } from './manifests.ts';

/** Target of an import: a folder of the repository, a package, or undefined (the standard library, or unknown). */
export type ResolvedImport =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'package'; readonly name: string }
  | undefined;

const scriptExtensions = ['', '.ts', '.tsx', '.js', '.jsx', '.mjs', '.cjs', '.mts', '.cts', '.vue'];
const indexNames = scriptExtensions.slice(1).map(extension => `/index${extension}`);
const scripts = new Set(['JavaScript', 'TypeScript', 'Vue', 'Svelte']);

/** Creates a function that resolves the imports of a file. `paths`: all source files. */
export function createImportResolver(paths: ReadonlySet<string>, manifests: Manifests) {
  const byName = Map.groupBy(paths, path => posix.basename(path));
  const folders = new Set([...paths].map(path => posix.dirname(path)));
  const packagesByName = Map.groupBy(manifests.packages, ({ name }) => name);
  const packagesByFolder = Map.groupBy(manifests.packages, ({ folder }) => folder);

  const folderOf = (path: string): ResolvedImport => ({
    kind: 'folder',
    folder: posix.dirname(path),
  });
  const inFolder = (folder: string): ResolvedImport =>
    folders.has(folder) ? { kind: 'folder', folder } : undefined;
  const known = (name: string): ResolvedImport =>
    manifests.dependencies.has(name) ? { kind: 'package', name } : undefined;

  function firstOf(candidates: readonly string[]): ResolvedImport {
    const found = candidates
      .map(candidate => posix.normalize(candidate))
      .find(candidate => paths.has(candidate));
    return found === undefined ? undefined : folderOf(found);
  }

  /** Finds a file by the end of its path, if only one file matches. */
  function bySuffix(suffix: string): ResolvedImport {
    const matches = (byName.get(posix.basename(suffix)) ?? []).filter(
      path => path === suffix || path.endsWith(`/${suffix}`),
    );
    return matches.length === 1 ? folderOf(matches[0] ?? '') : undefined;
  }

  /** Finds a script like Node and bundlers: `.js` may mean a `.ts` file. */
  function script(base: string): ResolvedImport {
    const plain = base.replace(/\.(?:js|mjs|cjs|jsx)$/, '');
    const bases = plain === base ? [base] : [base, plain];
    return firstOf(
      bases.flatMap(one => [...scriptExtensions, ...indexNames].map(end => `${one}${end}`)),
    );
  }

  function ofScript(from: string, specifier: string): ResolvedImport {
    if (specifier.startsWith('.')) return script(posix.join(posix.dirname(from), specifier));
    if (/^[@~]\//.test(specifier))
      return script(`src/${specifier.slice(2)}`) ?? script(specifier.slice(2));
    if (specifier.startsWith('#')) return ofAlias(from, specifier);
    const name = packageOf(specifier);
    const [own] = packagesByName.get(name) ?? [];
    if (own) {
      const inside = posix.join(own.folder, specifier.slice(name.length));
      return script(inside) ?? script(posix.join(own.folder, 'src')) ?? inFolder(own.folder);
    }
    if (isBuiltin(specifier) || /^[a-z]+:/.test(specifier)) return undefined;
    return { kind: 'package', name };
  }

  /** Resolves a specifier such as `#name` by the `imports` of the nearest package.json that defines it. */
  function ofAlias(from: string, specifier: string): ResolvedImport {
    const near = [...ancestorsOf(from), '.'].flatMap(folder => packagesByFolder.get(folder) ?? []);
    for (const { folder, imports } of near)
      for (const [pattern, target] of imports) {
        const [before = '', after] = pattern.split('*');
        const isMatch =
          after === undefined
            ? specifier === pattern
            : specifier.startsWith(before) && specifier.endsWith(after);
        if (!isMatch) continue;
        const star =
          after === undefined
            ? ''
            : specifier.slice(before.length, specifier.length - after.length);
        const found = script(posix.join(folder, target.replace('*', star)));
        if (found) return found;
      }
    return undefined;
  }

  function ofPython(from: string, specifier: string): ResolvedImport {
    const [, dots = '', name = ''] = /^(\.*)(.*)$/.exec(specifier) ?? [];
    const parts = name.split('.').filter(Boolean);
    const up = Array.from({ length: Math.max(0, dots.length - 1) }, () => '..');
    const here = posix.join(posix.dirname(from), ...up);
    const bases = dots === '' ? ['', 'src', ...ancestorsOf(from)] : [here];
    for (let length = parts.length; length > 0; length--) {
      const inside = parts.slice(0, length).join('/');
      const found = firstOf(
        bases.flatMap(base => [
          posix.join(base, `${inside}.py`),
          posix.join(base, inside, '__init__.py'),
        ]),
      );
      if (found) return found;
    }
    return dots === '' ? known((parts[0] ?? '').toLowerCase()) : inFolder(here);
  }

  function ofGo(specifier: string): ResolvedImport {
    for (const { name, folder } of manifests.goModules)
      if (specifier === name || specifier.startsWith(`${name}/`))
        return inFolder(posix.join(folder, specifier.slice(name.length)));
    const dependency = [specifier, ...ancestorsOf(specifier)].find(one =>
      manifests.dependencies.has(one),
    );
    return dependency === undefined ? undefined : { kind: 'package', name: dependency };
  }

  function ofRust(from: string, specifier: string): ResolvedImport {
    const parts = specifier.split('::');
    const [first = ''] = parts;
    const crate = /^(.*?\bsrc)\//.exec(from)?.[1] ?? posix.dirname(from);
    const here = posix.dirname(from);
    const base = first === 'crate' ? crate : first === 'super' ? posix.dirname(here) : here;
    const inside = ['crate', 'self', 'super'].includes(first) ? parts.slice(1) : parts;
    for (let length = inside.length; length > 0; length--) {
      const path = posix.join(base, ...inside.slice(0, length));
      const found = firstOf([`${path}.rs`, `${path}/mod.rs`]);
      if (found) return found;
    }
    return known(first);
  }

  return (
    { path, language }: Pick<FileOutline, 'path' | 'language'>,
    specifier: string,
  ): ResolvedImport => {
    if (scripts.has(language)) return ofScript(path, specifier);
    const beside = posix.join(posix.dirname(path), specifier);
    switch (language) {
      case 'Python':
        return ofPython(path, specifier);
      case 'Go':
        return ofGo(specifier);
      case 'Rust':
        return ofRust(path, specifier);
      case 'Java':
        return bySuffix(`${specifier.replaceAll('.', '/')}.java`);
      case 'PHP':
        return firstOf([beside]) ?? bySuffix(`${specifier.split('\\').slice(-2).join('/')}.php`);
      case 'Ruby':
        return firstOf([`${beside}.rb`, beside, `lib/${specifier}.rb`]);
      default:
        return firstOf([beside, specifier]) ?? bySuffix(specifier);
    }
  };
}

/** Returns the package of a specifier: `@scope/name` for `@scope/name/file`. */
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

function ancestorsOf(path: string): readonly string[] {
  const parts = posix.dirname(path).split('/');
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/'));
}
