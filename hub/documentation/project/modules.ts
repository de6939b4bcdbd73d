import { posix } from 'node:path';
import { isTestFile } from '../outline/languages.ts';
import type { FileOutline } from '../outline/outline-types.ts';
import type { CodeModule, ProjectFile } from './project-types.ts';
import type { ResolvedImport } from './resolve-imports.ts';

type Resolve = (file: FileOutline, specifier: string) => ResolvedImport;

/** Files whose comment describes their folder, the most telling first. */
const describing = /^(?:index|mod|lib|__init__|main|doc|package-info)\.\w+$/;

/** Groups source files by folder, and finds which modules use which. Sorted by folder. `pace`: called after each. */
export function groupModules(
  files: readonly FileOutline[],
  readmes: readonly ProjectFile[],
  resolve: Resolve,
  pace: () => void = () => {},
): readonly CodeModule[] {
  const groups = new Map<string, FileOutline[]>();
  for (const file of files) {
    const folder = moduleFolderOf(file.path);
    const group = groups.get(folder);
    if (group) group.push(file);
    else groups.set(folder, [file]);
  }
  const readmeOf = new Map(readmes.map(readme => [posix.dirname(readme.path), readme]));
  const usedBy = new Map<string, Set<string>>();
  const linked = [];
  for (const [folder, group] of groups) {
    const uses = new Map<string, Set<string>>();
    const packages = new Set<string>();
    for (const file of group)
      for (const specifier of file.imports) {
        const found = resolve(file, specifier);
        if (found?.kind === 'package') packages.add(found.name);
        if (found?.kind !== 'folder') continue;
        const target = groups.has(found.folder)
          ? found.folder
          : moduleFolderOf(`${found.folder}/x`);
        if (target === folder || !groups.has(target)) continue;
        addTo(uses, target, file.path);
        addTo(usedBy, target, folder);
      }
    linked.push({ folder, group, uses, packages });
    pace();
  }
  return linked
    .map(({ folder, group, uses, packages }) => ({
      folder,
      isTests: group.every(({ path }) => isTestFile(path)),
      files: group.toSorted((a, b) => compareText(a.path, b.path)),
      summary: summaryOf(folder, group, readmeOf.get(folder)),
      uses: new Map(
        [...uses]
          .toSorted(([a], [b]) => compareText(a, b))
          .map(([target, paths]) => [target, [...paths].toSorted(compareText)] as const),
      ),
      usedBy: [...(usedBy.get(folder) ?? [])].toSorted(compareText),
      packages: [...packages].toSorted(compareText),
    }))
    .toSorted((a, b) => compareText(a.folder, b.folder));
}

/** Independent of the language of the machine. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key) ?? new Set();
  map.set(key, values.add(value));
}

/** Tests below one folder of tests are one module: their folders only mirror the source. */
function moduleFolderOf(path: string): string {
  const folder = posix.dirname(path);
  const parts = folder.split('/');
  const at = parts.findIndex(part => /^(?:tests?|__tests__|specs?)$/i.test(part));
  return at < 0 ? folder : parts.slice(0, at + 1).join('/');
}

function summaryOf(
  folder: string,
  files: readonly FileOutline[],
  readme: ProjectFile | undefined,
): CodeModule['summary'] {
  const introduction = readme && folder !== '.' ? introductionOf(readme) : undefined;
  if (introduction) return introduction;
  const own = files.filter(({ path }) => posix.dirname(path) === folder);
  const documented = own.filter(({ doc }) => doc !== undefined);
  const [best] = [
    ...documented.filter(({ path }) => describing.test(posix.basename(path))),
    ...documented.filter(({ path }) => stem(path) === posix.basename(folder)),
    // The only file of a folder says what the folder is for.
    ...(own.length === 1 ? documented : []),
  ];
  if (best?.doc) return { text: best.doc.text, path: best.path, line: best.doc.line };
  // A file that is called like its folder holds what the folder is for.
  const main = own.find(({ path }) => stem(path) === posix.basename(folder));
  const symbol = main?.symbols.find(({ doc }) => doc !== undefined);
  return main && symbol?.doc !== undefined
    ? { text: symbol.doc, path: main.path, line: symbol.line }
    : undefined;
}

const stem = (path: string) => posix.basename(path).replace(/\.[^.]+$/, '');

const maxIntroduction = 400;

/** The first paragraph of a Markdown file that is text: no heading, badge, list, table, quote or HTML. */
export function introductionOf({ path, text }: ProjectFile): CodeModule['summary'] {
  const lines = text.split('\n');
  let isFenced = false;
  for (const [at, line] of lines.entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced;
    if (
      isFenced ||
      !/^[\p{L}\d`*_"'(]/u.test(line.trim()) ||
      /^(?:[*_-] |\d+\. |\[?!\[)/.test(line.trim())
    )
      continue;
    const paragraph: string[] = [];
    for (const next of lines.slice(at)) {
      if (next.trim() === '' || /^(?:#|```|[-*] |\||>)/.test(next)) break;
      paragraph.push(next.trim());
    }
    const plain = paragraph
      .join(' ')
      .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
      .replaceAll(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
      .replaceAll(/\*\*|__/g, '')
      .trim();
    if (!/\p{L}{3}.*\s.*\p{L}{2}/u.test(plain)) continue;
    const cut =
      plain.length > maxIntroduction
        ? `${plain.slice(0, plain.lastIndexOf(' ', maxIntroduction))} ...`
        : plain;
    return { text: cut, path, line: at + 1 };
  }
  return undefined;
}
