import { posix } from 'node:path';
import type { ThreadPace } from '#core';
import type { FileOutline, OutlineSymbol } from '../outline/outline-types.ts';
import { stem } from '../project/modules.ts';
import type { CodeModule } from '../project/project-types.ts';
import { cite, code, counted, joined, link, plainText, section, tagOf } from './markdown.ts';
import type { Description, DraftNote } from './note-types.ts';

/** Names of a project's notes. `ofModule`: by folder. */
export type NoteNames = {
  readonly project: string;
  readonly readme: string;
  readonly index: string;
  readonly architecture: string;
  readonly ofModule: ReadonlyMap<string, string>;
};

const maxSymbolsShown = 40;
const maxFilesShown = 4;
const maxTestsShown = 12;

/** Creates the note of a module. `pace`: called after each piece of work. */
export function draftModuleNote(
  module: CodeModule,
  modules: ReadonlyMap<string, CodeModule>,
  names: NoteNames,
  pace: ThreadPace,
): DraftNote {
  const { folder, files, isTests } = module;
  const languages = languagesOf(files);
  const kind = isTests ? 'tests' : 'module';
  const tags = [tagOf(names.project), kind, ...languages.map(tagOf)];
  return {
    folder,
    name: names.ofModule.get(folder) ?? folder,
    title: titleOf(folder),
    tags,
    description: describe(module),
    madeFrom: files.map(({ path, hash }) => `${path} ${hash}`).join('\n'),
    body: joined([
      `# ${plainText(titleOf(folder))}`,
      navigation(names, tags),
      module.summary && `${plainText(module.summary.text)} ${cite(module.summary)}`,
      `${counted(files.length, 'file')}, ${counted(sum(files.map(({ lines }) => lines)), 'line')} of ${languages.join(', ')}.`,
      ...(isTests ? tested(module, names) : offered(module, pace)),
      ...(isTests ? [] : used(module, modules, names)),
    ]),
  };
}

/** Inserts a model's description of a module before the sections that were read from its syntax. */
export function withDescription(body: string, { claims, model }: Description): string {
  const lines = claims.map(
    ({ text, citations }) => `- ${plainText(text)} ${citations.map(cite).join(', ')}`,
  );
  const added = `${section('How it works', lines)}\n\n*Written by ${plainText(model)}. Each line cites what it says.*`;
  const at = body.indexOf('\n## ');
  return at < 0 ? `${body}\n\n${added}` : `${body.slice(0, at)}\n${added}\n${body.slice(at)}`;
}

const titleOf = (folder: string): string => (folder === '.' ? 'top folder' : folder);

export const navigation = (names: NoteNames, tags: readonly string[]): string =>
  [
    link(names.readme, names.project),
    link(names.index, 'Index'),
    link(names.architecture, 'Architecture'),
    tags.map(tag => `#${tag}`).join(' '),
  ].join(' · ');

const languagesOf = (files: readonly FileOutline[]): readonly string[] =>
  [...new Set(files.map(({ language }) => language))].toSorted();

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const maxNamesInDescription = 5;

/** Returns one sentence about a module: from its summary, or about the names that it exports. */
export function describe({ summary, files, isTests }: CodeModule): string {
  if (isTests) return `${counted(files.length, 'file')} of tests.`;
  if (summary) return summary.text.replace(/^(.{20,}?[.!?])\s.*$/, '$1');
  const all = [
    ...new Set(
      files
        .flatMap(({ symbols }) => symbols)
        .filter(({ kind }) => kind !== 're-export' && kind !== 'default')
        .map(({ name }) => name),
    ),
  ];
  const shown = all.slice(0, maxNamesInDescription).join(', ');
  if (all.length === 0)
    return `${counted(files.length, 'file')} of ${languagesOf(files).join(', ')}.`;
  const more = all.length - maxNamesInDescription;
  return `Offers ${shown}${more > 0 ? ` and ${counted(more, 'other')}` : ''}.`;
}

function offered({ files, folder }: CodeModule, pace: ThreadPace): readonly string[] {
  const offering = files.filter(({ symbols, doc }) => symbols.length > 0 || doc !== undefined);
  const others = files.filter(file => !offering.includes(file));
  const sections = offering.map(file => sectionOf(file, folder, pace));
  return [
    ...(sections.length > 0 ? ['## What it offers', ...sections] : []),
    ...(others.length > 0
      ? [
          `## Other files\n\n${others.map(file => `- ${code(relative(folder, file.path))} (${counted(file.lines, 'line')}${file.isParsed ? '' : ', not parsed'})`).join('\n')}`,
        ]
      : []),
  ];
}

function sectionOf(file: FileOutline, folder: string, pace: ThreadPace): string {
  const { path, doc, symbols, lines } = file;
  const reexports = symbols.filter(({ kind }) => kind === 're-export');
  const own = symbols.filter(({ kind }) => kind !== 're-export');
  const shown = own.slice(0, maxSymbolsShown);
  const more = own.length - shown.length + file.moreSymbols;
  return joined([
    `### ${code(relative(folder, path))}`,
    doc && `${plainText(doc.text)} ${cite({ path, line: doc.line })}`,
    [
      ...shown.map(symbol => {
        pace();
        return itemOf(symbol, path);
      }),
      ...(more > 0
        ? [`- and ${counted(more, 'other name')} (${counted(lines, 'line')} in all)`]
        : []),
    ].join('\n'),
    reexports.length > 0 && `Passes on ${reexportsOf(reexports)}.`,
  ]);
}

function itemOf({ signature, name, line, doc, members = [] }: OutlineSymbol, path: string): string {
  const declaration = signature.replace(
    /^(?:export (?:default )?|pub(?:\([^)]*\))? |public |declare )+/,
    '',
  );
  const shown = declaration.includes(name) ? declaration : `${name}: ${declaration}`;
  const methods = members.length > 0 ? ` Members: ${members.map(code).join(', ')}.` : '';
  const said = doc === undefined ? '' : `: ${plainText(doc)}`;
  return `- ${code(shown)}${said}${methods} ${cite({ path, line })}`;
}

/** Formats the names that a file re-exports, by their source file. */
function reexportsOf(symbols: readonly OutlineSymbol[]): string {
  const bySource = Map.groupBy(symbols, ({ signature }) =>
    signature.replace(/^from\s*/, '').replaceAll(/['"]/g, ''),
  );
  return [...bySource]
    .map(
      ([source, list]) =>
        `${list.map(({ name }) => (name === '*' ? 'everything' : code(name))).join(', ')} of ${code(source)}`,
    )
    .join('; ');
}

function used(
  { uses, usedBy, packages, files, folder }: CodeModule,
  modules: ReadonlyMap<string, CodeModule>,
  names: NoteNames,
): readonly string[] {
  const plain = usedBy.filter(user => modules.get(user)?.isTests === false);
  const testing = usedBy.filter(user => modules.get(user)?.isTests === true);
  const tests = testing.flatMap(user => modules.get(user)?.uses.get(folder) ?? []);
  const stems = new Set(files.map(({ path }) => stem(path)));
  const own = tests.filter(path =>
    stems.has(stem(path).replace(/[._-](?:test|spec)$|^test_|_test$/, '')),
  );
  const shown = (own.length > 0 ? own : tests).slice(0, maxTestsShown);
  const rest = tests.length - shown.length;
  return [
    section(
      'Uses',
      [...uses].map(([target, paths]) => `- ${linkTo(target, names)} in ${filesText(paths)}`),
    ),
    packages.length > 0
      ? `${uses.size > 0 ? 'Packages' : '## Uses\n\nPackages'}: ${packages.map(code).join(', ')}.`
      : '',
    section(
      'Used by',
      plain.map(
        user =>
          `- ${linkTo(user, names)} in ${filesText(modules.get(user)?.uses.get(folder) ?? [])}`,
      ),
    ),
    section('Tests', [
      ...shown.map(path => `- ${code(path)}`),
      ...(rest > 0
        ? [
            `- and ${counted(rest, 'other')} in ${testing.map(user => linkTo(user, names)).join(', ')}`,
          ]
        : []),
    ]),
  ];
}

const tested = ({ uses, files }: CodeModule, names: NoteNames): readonly string[] => {
  const folders = Map.groupBy(files, ({ path }) => posix.dirname(path));
  return [
    section(
      'Folders',
      [...folders].map(([name, of]) => `- ${code(name)}: ${counted(of.length, 'file')}`),
    ),
    section(
      'What it tests',
      [...uses].map(
        ([target, paths]) => `- ${linkTo(target, names)} in ${counted(paths.length, 'file')}`,
      ),
    ),
  ];
};

export const linkTo = (folder: string, { ofModule }: NoteNames): string =>
  link(ofModule.get(folder) ?? folder, titleOf(folder));

const filesText = (paths: readonly string[]) =>
  paths.length > maxFilesShown
    ? counted(paths.length, 'file')
    : paths.map(path => code(posix.basename(path))).join(', ');

const relative = (folder: string, path: string) =>
  folder === '.' ? path : path.slice(folder.length + 1);
