import { posix } from 'node:path';
import type { Exclusion, FileOutline } from '../outline/outline-types.ts';
import { isTestFile } from '../outline/languages.ts';
import { maxEntryPoints, readManifests } from './manifests.ts';
import { compareText, groupModules, introductionOf } from './modules.ts';
import type { RepositoryDocument, EntryPoint, Project, ProjectFile } from './project-types.ts';
import { createImportResolver } from './resolve-imports.ts';

type Sources = Pick<Project, 'name' | 'root' | 'commit' | 'trackedFiles'> & {
  readonly outlines: readonly FileOutline[];
  /** Manifests and Markdown files. */
  readonly others: readonly ProjectFile[];
  readonly excluded: readonly Exclusion[];
};

const mainFiles =
  /(?:^|\/)(?:main|__main__)\.(?:go|rs|py|[cm]?[jt]s|c|cc|cpp)$|^(?:src\/)?(?:cli|server|app|manage)\.(?:py|[cm]?[jt]s)$/;
const maxDocuments = 200;
const maxTitleLength = 1_000;

/** Creates the project from everything that was read. `pace`: called after each piece of work. */
export function buildProject(
  { outlines, others, excluded, ...facts }: Sources,
  pace: () => void,
): Project {
  const manifests = readManifests(others.filter(({ path }) => !path.endsWith('.md')));
  const markdown = others
    .filter(({ path }) => path.endsWith('.md'))
    .toSorted((a, b) => compareText(a.path, b.path));
  const readmes = markdown.filter(({ path }) => /^readme\.md$/i.test(posix.basename(path)));
  const resolve = createImportResolver(new Set(outlines.map(({ path }) => path)), manifests);
  const top = readmes.find(({ path }) => posix.dirname(path) === '.');
  return {
    ...facts,
    modules: groupModules(outlines, readmes, resolve, pace),
    entryPoints: [...manifests.entryPoints, ...mainsOf(outlines)].slice(0, maxEntryPoints),
    documents: markdown.slice(0, maxDocuments).map(documentOf),
    introduction: top && introductionOf(top),
    excluded: excluded.toSorted((a, b) => compareText(a.path, b.path)),
  };
}

/** Returns the files that programs usually start with. */
const mainsOf = (files: readonly FileOutline[]): readonly EntryPoint[] =>
  files
    .filter(({ path }) => mainFiles.test(path) && !isTestFile(path))
    .map(({ path, symbols, language }) => ({
      what: `${language} program`,
      target: path,
      path,
      line: symbols.find(({ name }) => name === 'main')?.line ?? 1,
    }));

function documentOf({ path, text }: ProjectFile): RepositoryDocument {
  const lines = text.split('\n');
  const at = lines.findIndex(line => /^#{1,3}\s+\S/.test(line));
  const title =
    at < 0
      ? posix.basename(path)
      : (lines[at] ?? '')
          .replace(/^#+\s+/, '')
          .slice(0, maxTitleLength)
          .trimEnd()
          .replace(/#+$/, '')
          .trimEnd();
  return { path, line: at < 0 ? 1 : at + 1, title };
}
