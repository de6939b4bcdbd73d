import { createHash } from 'node:crypto';
import { type Dirent, constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCodeOf, ignoreMissing, messageOf } from '#core';
import { type ContextKind, kindOfFolder } from './context-kind.ts';
import { type Ignore, createIgnore } from './ignore.ts';
import { holdsPrivateKey, isSecretFile } from './secret-files.ts';
import type { TarFile } from './tar.ts';

/** A file in the folder that is not part of the context, and why. */
type LeftOut = { readonly path: string; readonly why: 'secret' | 'link' | 'special' };

/** The files that an image is built from. */
type BuildContext = {
  readonly kind: ContextKind;
  /** Files of the context, ordered by path. */
  readonly files: readonly TarFile[];
  /** Digest of the kind and the files, which does not depend on where the folder is. */
  readonly digest: string;
  /** Absolute paths of the folders with files of the context, to watch for changes. */
  readonly folders: readonly string[];
  readonly leftOut: readonly LeftOut[];
};

const contextLimits = { files: 5_000, bytes: 64 * 2 ** 20 } as const;
type ContextLimits = { readonly files: number; readonly bytes: number };

const maxRulesBytes = 64 * 1024;
/** Number of entries of a folder after which their reading yields to the event loop. */
const entriesPerTurn = 16;

/**
 * Files that tools create and that are installed anew in the image. Ignored unless .dockerignore makes an exception.
 */
const madeByTools = [
  '.git',
  '**/node_modules',
  '**/.venv',
  '**/__pycache__',
  '**/.pytest_cache',
  '**/.DS_Store',
];

/** Files that a build always needs, whatever .dockerignore says. */
const alwaysTaken: Readonly<Record<ContextKind, readonly string[]>> = {
  docker: ['Dockerfile', '.dockerignore'],
  npm: ['package.json', 'package-lock.json', 'npm-shrinkwrap.json'],
  python: ['pyproject.toml', 'uv.lock'],
};

/**
 * Reads the files of a folder from which an image is built: all except ignored files, files made by tools, secrets, and
 * links that lead out of the folder. Rejects with a RangeError above the limits, and with an Error if the folder cannot
 * be read or built; the messages end a sentence about the folder.
 */
export async function readContext(
  folder: string,
  limits: ContextLimits = contextLimits,
): Promise<BuildContext> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new Error(`cannot be read: ${messageOf(error)}`, { cause: error });
  });
  const found = kindOfFolder(names);
  if ('why' in found) throw new Error(found.why);
  const written = names.includes('.dockerignore') ? await readRules(folder) : '';
  const always = alwaysTaken[found.kind].map(name => `!${name}`);
  const ignore = createIgnore([...madeByTools, ...written.split('\n'), ...always]);
  const walk = createWalk(folder, ignore, limits);
  await walk.enter('');
  const files = walk.files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  return {
    kind: found.kind,
    files,
    digest: digestOf(found.kind, files),
    folders: walk.folders,
    leftOut: walk.leftOut,
  };
}

/**
 * Returns the text of .dockerignore. Rejects if it is a link out of the folder, which could lead to an endless device.
 */
async function readRules(folder: string): Promise<string> {
  const file = await realpath(join(folder, '.dockerignore'));
  if (leaves(await realpath(folder), file))
    throw new Error('holds a .dockerignore that leads out of it. Put a file in its place');
  const { content } = await readFileAt(file, maxRulesBytes);
  if (content.length > maxRulesBytes)
    throw new RangeError('holds a .dockerignore of more than 64 KiB. Shorten it');
  return content.toString();
}

function digestOf(kind: ContextKind, files: readonly TarFile[]): string {
  const hash = createHash('sha256').update(kind);
  for (const { path, content, isExecutable, link } of files)
    hash
      .update(JSON.stringify([path, isExecutable ?? false, link ?? '', content.length]))
      .update(content);
  return hash.digest('hex');
}

function createWalk(root: string, { ignores, mayExceptBelow }: Ignore, limits: ContextLimits) {
  const files: TarFile[] = [];
  const folders: string[] = [];
  const leftOut: LeftOut[] = [];
  let bytes = 0;

  function take(file: TarFile): void {
    files.push(file);
    bytes += file.content.length;
    const remedy =
      'List what the image does not need in .dockerignore, such as data and results of builds';
    if (files.length > limits.files)
      throw new RangeError(`holds more than ${limits.files} files. ${remedy}`);
    if (bytes > limits.bytes)
      throw new RangeError(`holds more than ${limits.bytes / 2 ** 20} MiB. ${remedy}`);
  }

  /** Reads the folder at a path of the context. `place` leads to it, even if a folder above it is replaced. */
  async function enter(path: string, place = root): Promise<void> {
    await using opened = await openFolder(place);
    if (!opened) return void leftOut.push({ path, why: 'link' });
    const entries = await readdir(opened.path, { withFileTypes: true });
    folders.push(join(root, path));
    for (const [index, entry] of entries.entries()) {
      // A thousand rules take a part of a millisecond for each entry.
      if (index % entriesPerTurn === 0) await nextTurn();
      const inside = path === '' ? entry.name : `${path}/${entry.name}`;
      const isIgnored = ignores(inside);
      if (isIgnored && !(entry.isDirectory() && mayExceptBelow(inside))) continue;
      if (isSecretFile(entry.name)) {
        if (!isIgnored) leftOut.push({ path: inside, why: 'secret' });
        continue;
      }
      const at = join(opened.path, entry.name);
      const reading = entry.isDirectory() ? enter(inside, at) : visit(entry, inside, at);
      // A file may disappear while it is read: editors and tools remove temporary files at any time.
      await reading.catch(ignoreMissing).catch((error: unknown) => {
        throw withPath(error, opened.path, join(root, path));
      });
    }
  }

  async function visit(entry: Dirent, path: string, place: string): Promise<void> {
    if (entry.isSymbolicLink()) {
      const link = await linkInside(root, path);
      if (link === undefined) leftOut.push({ path, why: 'link' });
      else take({ path, content: Buffer.alloc(0), link });
    } else if (!entry.isFile()) leftOut.push({ path, why: 'special' });
    else {
      const file = await readFileAt(place, limits.bytes - bytes);
      if (holdsPrivateKey(entry.name, file.content)) leftOut.push({ path, why: 'secret' });
      else take({ path, ...file });
    }
  }

  return { files, folders, leftOut, enter };
}

/**
 * Opens a folder. Undefined if a link or a file has replaced it: a server that may write there could make the link.
 * Elsewhere than on Linux an open folder has no path, so its own path is used.
 */
async function openFolder(folder: string) {
  if (process.platform !== 'linux') return { path: folder, async [Symbol.asyncDispose]() {} };
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    const handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return {
      path: `/proc/self/fd/${handle.fd}`,
      [Symbol.asyncDispose]: async () => await handle.close(),
    };
  } catch (error) {
    if (['ELOOP', 'ENOTDIR'].includes(errorCodeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Returns the error with the path of a folder in place of the one by which it was opened. */
function withPath(error: unknown, opened: string, folder: string): unknown {
  const text = messageOf(error);
  const named = text.replaceAll(join(opened, sep), join(folder, sep));
  return named === text ? error : new Error(named, { cause: error });
}

/**
 * Reads a file, and not much more than `maxBytes`. Does not follow a link or block on a pipe that has replaced the
 * file.
 */
async function readFileAt(path: string, maxBytes: number) {
  await using handle = await open(
    path,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  const { mode, size } = await handle.stat();
  const content = size > maxBytes ? Buffer.alloc(maxBytes + 1) : await handle.readFile();
  return { content, isExecutable: (mode & 0o100) !== 0 };
}

/**
 * Returns the target of a link, relative to the link; undefined if it leads out of the folder. Rejects with ENOENT if
 * the link was removed.
 */
async function linkInside(root: string, path: string): Promise<string | undefined> {
  const at = join(root, path);
  const target = await readlink(at);
  if (isAbsolute(target) || leaves(root, resolve(dirname(at), target))) return undefined;
  // A dangling link exists: `realpath` rejects for it, `lstat` does not.
  const real = await realpath(at).catch(async () => void (await lstat(at)));
  return real === undefined || leaves(await realpath(root), real) ? undefined : target;
}

function leaves(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
}
