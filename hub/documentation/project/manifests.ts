import { posix } from 'node:path';
import { isObject, tryParseJson } from '#core';
import type { EntryPoint, ProjectFile } from './project-types.ts';

/** Contents of manifests such as package.json. */
export type Manifests = {
  readonly entryPoints: readonly EntryPoint[];
  /** Names of the packages that the repository depends on, in any language. */
  readonly dependencies: ReadonlySet<string>;
  /** npm packages in this repository. */
  readonly packages: readonly NpmPackage[];
  /** Go modules in this repository, with their names and folders. */
  readonly goModules: readonly { readonly name: string; readonly folder: string }[];
};

type NpmPackage = {
  readonly name: string | undefined;
  readonly folder: string;
  /** Patterns in `imports` of package.json, such as `#*`, and their targets. */
  readonly imports: readonly (readonly [pattern: string, target: string])[];
};

const names = /(?:^|\/)(?:package\.json|pyproject\.toml|requirements\.txt|go\.mod|Cargo\.toml)$/;

/** True if `readManifests` reads the file. */
export const isManifest = (path: string): boolean => names.test(path);

const shownScripts = ['start', 'dev', 'build', 'test'];
export const maxEntryPoints = 40;
const maxTargetLength = 160;
/** Maximum length of a line in characters. Longer lines were not written by people, and are skipped. */
const maxLineLength = 1_000;

/** Reads manifests. Skips those that cannot be parsed. */
export function readManifests(files: readonly ProjectFile[]): Manifests {
  const entryPoints: EntryPoint[] = [];
  const dependencies = new Set<string>();
  const packages: NpmPackage[] = [];
  const goModules: { name: string; folder: string }[] = [];

  for (const { path, text } of files) {
    const folder = posix.dirname(path);
    const lines = text.split('\n');
    const short = lines.filter(({ length }) => length <= maxLineLength);
    const add = (what: string, target: unknown, key: string) => {
      if (typeof target !== 'string' || entryPoints.length >= maxEntryPoints) return;
      const at = lines.findIndex(line => line.includes(key));
      const cut =
        target.length > maxTargetLength ? `${target.slice(0, maxTargetLength)} ...` : target;
      entryPoints.push({ what, target: cut, path, line: at < 0 ? 1 : at + 1 });
    };
    switch (posix.basename(path)) {
      case 'package.json':
        readNpm(folder, tryParseJson(text), add);
        break;
      case 'go.mod':
        readGo(folder, short);
        break;
      case 'requirements.txt':
        for (const line of short) addPython(/^\s*([A-Za-z][\w.-]*)/.exec(line)?.[1]);
        break;
      default:
        readToml(short, path, add);
    }
  }
  return { entryPoints, dependencies, packages, goModules };

  function addPython(name: string | undefined): void {
    if (name !== undefined) dependencies.add(name.toLowerCase().replaceAll('-', '_'));
  }

  function readGo(folder: string, lines: readonly string[]): void {
    const name = lines.map(line => /^module\s+(\S+)/.exec(line)?.[1]).find(found => found);
    if (name !== undefined) goModules.push({ name, folder });
    for (const line of lines) {
      const found = /^\s*(?:require\s+)?([\w.-]+\.[\w.-]+\/\S+)\s+v/.exec(line);
      if (found?.[1] !== undefined) dependencies.add(found[1]);
    }
  }

  function readNpm(folder: string, manifest: unknown, add: Add): void {
    if (!isObject(manifest)) return;
    const { name, main, bin, imports, scripts, exports: exported } = manifest;
    packages.push({
      name: typeof name === 'string' ? name : undefined,
      folder,
      imports: entriesOf(imports).flatMap(([pattern, target]) => {
        const plain = isObject(target) ? (target['default'] ?? target['import']) : target;
        return typeof plain === 'string' ? [[pattern, plain] as const] : [];
      }),
    });
    add('package main', main, '"main"');
    if (typeof exported === 'string') add('package exports', exported, '"exports"');
    if (typeof bin === 'string')
      add(`command ${typeof name === 'string' ? name : ''}`.trim(), bin, '"bin"');
    for (const [command, target] of entriesOf(bin))
      add(`command ${command}`, target, `"${command}":`);
    for (const script of shownScripts)
      if (isObject(scripts)) add(`npm run ${script}`, scripts[script], `"${script}":`);
    for (const key of [
      'dependencies',
      'peerDependencies',
      'optionalDependencies',
      'devDependencies',
    ])
      for (const [dependency] of entriesOf(manifest[key])) dependencies.add(dependency);
  }

  /** Reads scripts and dependencies of Cargo.toml and pyproject.toml line by line. */
  function readToml(lines: readonly string[], path: string, add: Add): void {
    let table = '';
    for (const line of lines) {
      table = /^\s*\[+([^[\]]+)\]/.exec(line)?.[1]?.trim() ?? table;
      const [, key, value] = /^\s*"?([\w.-]+)"?\s*=\s*(.+)$/.exec(line) ?? [];
      if (table === 'project.scripts' || table === 'tool.poetry.scripts') {
        if (key !== undefined) add(`command ${key}`, value?.replaceAll('"', ''), line.trim());
      } else if (table.endsWith('dependencies') && key !== undefined) {
        if (path.endsWith('Cargo.toml')) dependencies.add(key.replaceAll('-', '_'));
        else addPython(key);
      } else if (/^\s*"[A-Za-z][^"]*",?\s*$/.test(line))
        addPython(/"([A-Za-z][\w.-]*)/.exec(line)?.[1]);
    }
  }
}

type Add = (what: string, target: unknown, key: string) => void;

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isObject(value) ? Object.entries(value) : [];
