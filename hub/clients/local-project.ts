import { basename, dirname, isAbsolute, join, posix, relative, resolve } from 'node:path';
import type { JsonObject } from '#core';
import type { FoundPath } from './folder-mounts.ts';

type Needs = {
  readonly find: (path: string) => Promise<FoundPath | undefined>;
  /** Folder in which the client starts the server; undefined if unknown. */
  readonly base: string | undefined;
};

/** A command line that runs a project of this machine. */
type ProjectLine = {
  readonly runtime: 'node' | 'python';
  /** Folder that the command line names, as written; undefined to use that of the file, or the client's. */
  readonly folder: string | undefined;
  /** File of the project that the command line names, as written. */
  readonly file: string | undefined;
  /** Program in the project's environment, if it is not the runtime itself. */
  readonly program?: string;
  readonly args: readonly string[];
};

/** Files that make a folder buildable, by runtime. A Dockerfile takes precedence over them. */
const manifests = { node: 'package.json', python: 'pyproject.toml' } as const;
/** Path of the project's folder in its image. */
const imageFolder = '/app';
/** Maximum number of parent folders to search, more than any project has. */
const maxParents = 12;

/**
 * Converts an entry that runs a project of this machine (`uv run`, `node` and `python` with a file) to one that builds
 * the project's folder. Returns undefined for other command lines, and a reason if the folder cannot be built.
 */
export async function buildEntryOf(
  entry: JsonObject,
  needs: Needs,
): Promise<{ readonly entry: JsonObject } | { readonly why: string } | undefined> {
  const { command, args, cwd: _, ...rest } = entry;
  const words = Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : [];
  const line = typeof command === 'string' ? readProjectLine(command, words) : undefined;
  if (!line) return undefined;
  const found = await findFolder(line, needs);
  if (found.why !== undefined) return { why: found.why };
  const { folder, file, isDockerfile } = found;
  const inImage = file === undefined ? [] : [posix.join(...relative(folder, file).split(/[\\/]/))];
  const given = [...inImage, ...line.args];
  const program =
    line.program !== undefined
      ? `${imageFolder}/.venv/bin/${line.program}`
      : line.runtime === 'python'
        ? `${imageFolder}/.venv/bin/python`
        : 'node';
  // A Dockerfile defines the program itself, and only it knows where the image has the project's files.
  const run = isDockerfile ? { args: line.args } : { command: program, args: given };
  return { entry: { build: folder, ...run, ...rest } };
}

async function findFolder(
  { runtime, folder: named, file: written }: ProjectLine,
  { find, base }: Needs,
) {
  const absolute = (path: string) =>
    isAbsolute(path) || base === undefined ? path : resolve(base, path);
  const start = named === undefined ? base : absolute(named);
  const file =
    written === undefined ? undefined : start === undefined ? written : resolve(start, written);
  if (file !== undefined && (!isAbsolute(file) || !(await find(file))))
    return { why: `it runs ${JSON.stringify(written)}, which is not there on this machine` };
  let folder = named === undefined && file !== undefined ? dirname(file) : start;
  if (folder === undefined)
    return { why: 'it runs a project in a folder that only the client knows: add "cwd" there' };
  for (let parents = 0; parents < maxParents; parents++) {
    if (await find(join(folder, 'Dockerfile'))) return { folder, file, isDockerfile: true };
    if (await find(join(folder, manifests[runtime]))) return { folder, file, isDockerfile: false };
    if (named !== undefined || dirname(folder) === folder) break;
    folder = dirname(folder);
  }
  const lacks =
    named === undefined ? `no folder around ${file ?? start} has` : `${start} does not have`;
  return {
    why: `it runs a program of this machine, which the hub would build into an image, but ${lacks} a Dockerfile or ${manifests[runtime]}. Add one, and repeat this`,
  };
}

function readProjectLine(command: string, args: readonly string[]): ProjectLine | undefined {
  const name = basename(command.replaceAll('\\', '/')).replace(/\.(?:exe|cmd)$/i, '');
  if (name === 'uv') return readUvRun(args);
  if (/^python(?:3(?:\.\d+)?)?$/.test(name)) return readPython(undefined, args);
  const [file, ...others] = args;
  if (name !== 'node' || file === undefined || file.startsWith('-')) return undefined;
  return { runtime: 'node', folder: undefined, file, args: others };
}

const uvSwitches =
  '-q --quiet -v --verbose --no-sync --frozen --locked --isolated --no-dev --no-progress'.split(
    ' ',
  );
const uvValued = '--with -p --python --extra --group --index-url --default-index'.split(' ');

function readUvRun(args: readonly string[]): ProjectLine | undefined {
  let folder: string | undefined;
  let isRun = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [, option = word, inline] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    if (option === '--directory' || option === '--project') folder = inline ?? args[++at];
    else if (uvValued.includes(option)) at += inline === undefined ? 1 : 0;
    else if (word === 'run' && !isRun) isRun = true;
    else if (uvSwitches.includes(word)) continue;
    else if (word.startsWith('-') || !isRun) return undefined;
    else return readProgram(folder, word, args.slice(at + 1));
  }
  return undefined;
}

/** Interprets the program that uv runs in the project's environment. */
function readProgram(
  folder: string | undefined,
  word: string,
  rest: readonly string[],
): ProjectLine | undefined {
  if (/^python(?:3(?:\.\d+)?)?$/.test(word)) return readPython(folder, rest);
  if (word.endsWith('.py')) return { runtime: 'python', folder, file: word, args: rest };
  return { runtime: 'python', folder, file: undefined, program: word, args: rest };
}

function readPython(folder: string | undefined, args: readonly string[]): ProjectLine | undefined {
  const left = args[0] === '-u' ? args.slice(1) : args;
  const [first, ...rest] = left;
  if (first === undefined) return undefined;
  if (first === '-m') return { runtime: 'python', folder, file: undefined, args: left };
  if (first.startsWith('-')) return undefined;
  return { runtime: 'python', folder, file: first, args: rest };
}
