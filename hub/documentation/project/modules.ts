import { posix } from 'node:path';
import { isTestFile } from '../outline/languages.ts';
import type { FileOutline } from '../outline/outline-types.ts';
import type { CodeModule, ProjectFile } from './project-types.ts';
import type { ResolvedImport } from './resolve-imports.ts';

type Resolve = (file: FileOutline, specifier: string) => ResolvedImport;

/** Matches files whose comment at the top usually describes the whole folder. */
const describing = /^(?:index|mod|lib|__init__|main|doc|package-info)\.\w+$/;

/** Groups files into modules, sorted by folder, with their dependencies. `pace`: called after each module. */
export function groupModules(
  files: readonly FileOutline[],
  readmes: readonly ProjectFile[],
  resolve: Resolve,
  pace: () => void = () => {},
): readonly CodeModule[] {
  const groups = Map.groupBy(files, ({ path }) => moduleFolderOf(path));
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

/** Compares strings by code units, independent of the locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key) ?? new Set();
  map.set(key, values.add(value));
}

/** Returns the folder of a file's module. Tests below a test folder are one module, because they mirror the source. */
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
    // If the folder has only one file, the comment of this file describes the folder.
    ...(own.length === 1 ? documented : []),
  ];
  if (best?.doc) return { text: best.doc.text, path: best.path, line: best.doc.line };
  // A file with the name of its folder contains what the folder is for.
  const main = own.find(({ path }) => stem(path) === posix.basename(folder));
  const symbol = main?.symbols.find(({ doc }) => doc !== undefined);
  return main && symbol?.doc !== undefined
    ? { text: symbol.doc, path: main.path, line: symbol.line }
    : undefined;
}

/** Returns the name of a file without its folder and extension. */
export const stem = (path: string): string => posix.basename(path).replace(/\.[^.]+$/, '');

const maxIntroduction = 400;
/** Maximum length of a paragraph in characters. The rest is not read. */
const maxParagraph = 4_000;

/** Returns the first paragraph of text in a Markdown file: no heading, badge, list, table, quote or HTML. */
export function introductionOf({ path, text }: ProjectFile): CodeModule['summary'] {
  const lines = text.split('\n');
  let isFenced = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (isFence(line)) isFenced = !isFenced;
    if (
      isFenced ||
      isEndOfParagraph(line) ||
      !/^[\p{L}\d`*_"'(]/u.test(line.trim()) ||
      /^(?:[*_-] |\d+\. |\[?!\[)/.test(line.trim())
    )
      continue;
    const first = at;
    const paragraph: string[] = [];
    for (let next = line; !isEndOfParagraph(next); next = lines[++at] ?? '')
      paragraph.push(next.trim());
    const plain = paragraph
      .join(' ')
      .slice(0, maxParagraph)
      .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
      .replaceAll(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
      .replaceAll(/\*\*|__/g, '')
      .trim();
    if (isProse(plain)) return { text: shortened(plain), path, line: first + 1 };
    at--; // The line that ended the paragraph may begin a fence.
  }
  return undefined;
}

const isFence = (line: string) => /^\s*(?:```|~~~)/.test(line);

const isEndOfParagraph = (line: string) =>
  line.trim() === '' || isFence(line) || /^(?:#|[-*] |\||>)/.test(line);

/**
 * True if a text has a word of three letters and another one after a space. Each part is searched only once, because a
 * README may be a single long line.
 */
function isProse(text: string): boolean {
  const word = text.search(/\p{L}{3}/u);
  const space = word < 0 ? -1 : text.slice(word).search(/\s/);
  return space >= 0 && /\p{L}{2}/u.test(text.slice(word + space));
}

function shortened(text: string): string {
  if (text.length <= maxIntroduction) return text;
  const end = text.lastIndexOf(' ', maxIntroduction);
  return `${text.slice(0, end > 0 ? end : maxIntroduction)} ...`;
}
