import { posix } from 'node:path';
import type { Exclusion } from '../outline/outline-types.ts';
import { findCycles } from '../project/cycles.ts';
import { compareText } from '../project/modules.ts';
import type { CodeModule, Project } from '../project/project-types.ts';
import { cite, code, counted, joined, link, plainText, section, tagOf } from './markdown.ts';
import { drawModules } from './mermaid.ts';
import { type NoteNames, linkTo, navigation } from './module-note.ts';
import type { DraftNote } from './note-types.ts';

/** Input of the notes about all modules. */
export type Overview = {
  readonly project: Project;
  readonly names: NoteNames;
  /** One sentence about each module, by folder. */
  readonly descriptions: ReadonlyMap<string, string>;
};

const maxListed = 200;
const maxCentral = 8;
const maxPackages = 60;
/** Maximum number of documents shown for a folder. A folder with more shows only `fewOfFolder`. */
const maxOfFolder = 20;
const fewOfFolder = 10;

/** Creates the introductory note: what the project is, how it starts, and what is not documented. */
export function draftReadme(overview: Overview): DraftNote {
  const { project, names } = overview;
  const { introduction, entryPoints, documents, modules, excluded, trackedFiles, name } = project;
  const files = modules.flatMap(module => module.files);
  const languages = [...Map.groupBy(files, ({ language }) => language)].toSorted(
    ([a, of], [b, others]) => others.length - of.length || compareText(a, b),
  );
  return draft(overview, names.readme, name, introduction?.text ?? `Documentation of ${name}.`, [
    introduction && `${plainText(introduction.text)} ${cite(introduction)}`,
    section(
      'Languages',
      languages.map(([language, of]) => `- ${plainText(language)}: ${counted(of.length, 'file')}`),
    ),
    section(
      'How it starts',
      entryPoints.map(entry => `- ${plainText(entry.what)}: ${code(entry.target)} ${cite(entry)}`),
    ),
    section(
      'Where to begin reading',
      centralOf(modules).map(
        module => `${itemOf(module, overview)} Used by ${counted(module.usedBy.length, 'module')}.`,
      ),
    ),
    section('Documents in the repository', limited(documentItems(documents))),
    section('About these notes', [
      `${link(names.index, 'The index')} lists ${counted(modules.length, 'module')} with ${counted(files.length, 'source file')}; ${link(names.architecture, 'the architecture')} shows how they depend on each other. git tracks ${counted(trackedFiles, 'file')} in all.`,
    ]),
    ...excludedTexts(excluded),
  ]);
}

/** Creates the note that lists all modules, by their top folder. */
export function draftIndex(overview: Overview): DraftNote {
  const { project, names } = overview;
  const code = project.modules.filter(({ isTests }) => !isTests);
  const tests = project.modules.filter(({ isTests }) => isTests);
  const groups = Map.groupBy(code, ({ folder }) => folder.split('/')[0] ?? '');
  const lists = [...groups].map(([top, of]) =>
    section(top === '.' ? 'Top folder' : plainText(top), itemsOf(of, overview)),
  );
  return draft(overview, names.index, `${project.name}: index`, `All modules of ${project.name}.`, [
    ...lists,
    section('Tests', itemsOf(tests, overview)),
  ]);
}

/** Creates the note about the dependencies between modules. */
export function draftArchitecture(overview: Overview): DraftNote {
  const { project, names } = overview;
  const modules = project.modules.filter(({ isTests }) => !isTests);
  const folders = new Set(modules.map(({ folder }) => folder));
  const drawing = drawModules(modules);
  const users = (usedBy: readonly string[]) => usedBy.filter(folder => folders.has(folder)).length;
  const roots = modules.filter(({ uses, usedBy }) => users(usedBy) === 0 && uses.size > 0);
  const base = modules.filter(({ uses, usedBy }) => uses.size === 0 && users(usedBy) > 1);
  const alone = modules.filter(({ uses, usedBy }) => uses.size === 0 && users(usedBy) === 0);
  return draft(
    overview,
    names.architecture,
    `${project.name}: architecture`,
    `How the modules of ${project.name} depend on each other.`,
    [
      drawing
        ? `An arrow points from a module to one that it imports.${drawing.common.length > 0 ? ` Most modules import ${drawing.common.map(code).join(', ')}: these arrows are left out.` : ''}${drawing.omittedEdges > 0 ? ` ${counted(drawing.omittedEdges, 'weaker arrow')} ${drawing.omittedEdges === 1 ? 'is' : 'are'} left out.` : ''}\n\n\`\`\`mermaid\n${drawing.text}\n\`\`\``
        : 'No module imports another one, as far as the imports can be followed.',
      section(
        'Where calls come in',
        limited(itemsOf(roots, overview)),
        'Modules that no other module imports.',
      ),
      section(
        'Most used',
        centralOf(modules).map(
          module =>
            `${itemOf(module, overview)} Used by ${counted(users(module.usedBy), 'module')}.`,
        ),
      ),
      section(
        'Foundations',
        limited(itemsOf(base, overview)),
        'Modules that import no other module, and are used by several.',
      ),
      section(
        'Circles',
        limited(
          findCycles(modules).map(
            group => `- ${group.map(folder => linkTo(folder, names)).join(', ')}`,
          ),
        ),
        'Modules that import each other, directly or through others.',
      ),
      section('On their own', limited(alone.map(({ folder }) => `- ${linkTo(folder, names)}`))),
      section('Packages', packagesOf(modules, names)),
    ],
  );
}

function draft(
  { project, names }: Overview,
  name: string,
  title: string,
  description: string,
  parts: readonly (string | undefined)[],
): DraftNote {
  const tags = [tagOf(project.name), 'overview'];
  return {
    name,
    title,
    tags,
    description,
    madeFrom: '',
    body: joined([`# ${plainText(title)}`, navigation(names, tags), ...parts]),
  };
}

const itemOf = ({ folder }: CodeModule, { names, descriptions }: Overview) =>
  `- ${linkTo(folder, names)}: ${plainText(descriptions.get(folder) ?? '')}`;

const itemsOf = (modules: readonly CodeModule[], overview: Overview) =>
  modules.map(module => itemOf(module, overview));

const limited = (items: readonly string[]) =>
  items.length > maxListed
    ? [...items.slice(0, maxListed), `- and ${items.length - maxListed} others`]
    : items;

/** Lists documents by folder. Of a folder with many, such as a log of decisions, only the first are listed. */
const documentItems = (documents: Project['documents']) =>
  [...Map.groupBy(documents, ({ path }) => posix.dirname(path))].flatMap(([folder, all]) => {
    const shown = all.length > maxOfFolder ? all.slice(0, fewOfFolder) : all;
    const items = shown.map(document => `- ${plainText(document.title)} ${cite(document)}`);
    if (shown.length < all.length)
      items.push(`- and ${all.length - shown.length} others in ${code(folder)}`);
    return items;
  });

/** Returns the modules that most other modules use. Tests do not count. */
function centralOf(modules: readonly CodeModule[]): readonly CodeModule[] {
  const isTests = new Set(modules.filter(module => module.isTests).map(({ folder }) => folder));
  const users = ({ usedBy }: CodeModule) => usedBy.filter(folder => !isTests.has(folder)).length;
  return modules
    .filter(module => !module.isTests && users(module) > 0)
    .toSorted((a, b) => users(b) - users(a) || compareText(a.folder, b.folder))
    .slice(0, maxCentral);
}

/** Lists external packages, those that most modules use first. */
function packagesOf(modules: readonly CodeModule[], names: NoteNames): readonly string[] {
  const users = new Map<string, string[]>();
  for (const { folder, packages } of modules)
    for (const name of packages) users.set(name, [...(users.get(name) ?? []), folder]);
  return [...users]
    .toSorted(([a, of], [b, others]) => others.length - of.length || compareText(a, b))
    .slice(0, maxPackages)
    .map(
      ([name, of]) =>
        `- ${code(name)}: ${of.length > 5 ? counted(of.length, 'module') : of.map(folder => linkTo(folder, names)).join(', ')}`,
    );
}

const reasons: Readonly<Record<Exclusion['reason'], string>> = {
  secret: 'Left out, because they may hold secrets',
  too_large: 'Left out, because they are too large',
  limit:
    'Left out by the limits in the config, documentation.max_files and documentation.max_megabytes',
  binary: 'Not text',
  generated: 'Generated or vendored',
  link: 'Symbolic links, which are not followed',
};

/** Lists excluded files. Files with secrets are listed individually, others by their folders. */
function excludedTexts(excluded: readonly Exclusion[]): readonly string[] {
  const groups = Map.groupBy(excluded, ({ reason }) => reason);
  const lists = Object.entries(reasons).flatMap(([reason, text]) => {
    const of = [...groups].find(([name]) => name === reason)?.[1];
    if (!of) return [];
    if (reason === 'secret')
      return [
        `${text}:\n\n${limited(of.map(({ path, what }) => `- ${code(path)}${what === undefined ? '' : ` (${what})`}`)).join('\n')}`,
      ];
    const folders = [
      ...new Set(of.map(({ path }) => path.split('/').slice(0, -1).join('/') || 'top folder')),
    ];
    const shown = folders.slice(0, 8).map(code).join(', ');
    return [
      `${text}: ${counted(of.length, 'file')} in ${shown}${folders.length > 8 ? ` and ${counted(folders.length - 8, 'other folder')}` : ''}.`,
    ];
  });
  return lists.length === 0 ? [] : ['## Not documented', ...lists];
}
