import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/** Folder of the agent's files. Its file tools access no other folder. */
export const workspace = '/workspace';

/** An error of a tool, whose message tells the model what to do. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/**
 * Resolves with the real path of a file or folder in the workspace, which may not exist yet. Rejects with ToolError if
 * the path leads out of the workspace, also by a symbolic link.
 */
export async function inWorkspace(given: string): Promise<string> {
  const wanted = path.resolve(workspace, given);
  if (!isInside(wanted)) throw outside(given);
  // The path may not exist: resolve the links of its nearest existing parent.
  for (let folder = wanted; ; folder = path.dirname(folder)) {
    try {
      const real = await realpath(folder);
      if (!isInside(real)) throw outside(given);
      return path.join(real, path.relative(folder, wanted));
    } catch (error) {
      if (error instanceof ToolError || codeOf(error) !== 'ENOENT') throw readable(given, error);
    }
  }
}

const isInside = (real: string) => real === workspace || real.startsWith(`${workspace}/`);

const outside = (given: string) =>
  new ToolError(
    `path: ${JSON.stringify(given)} is outside of ${workspace}. Use a path in ${workspace}, such as ${workspace}/notes.md`,
  );

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist. List its folder first',
  EISDIR: 'is a folder: name a file in it',
  ENOTDIR: 'has a file where a folder is needed',
  EACCES: 'may not be accessed',
  ELOOP: 'is a symbolic link: name the file that it points to',
  EFBIG: 'would exceed the largest size of a file',
  ENOSPC: 'cannot be written: no space is left',
  EDQUOT: 'cannot be written: no space is left',
};

/** Converts a system error to a ToolError with a message for the model. Returns other errors unchanged. */
function readable(given: string, error: unknown): unknown {
  const reason = reasons[codeOf(error) ?? ''];
  return reason === undefined ? error : new ToolError(`path: ${JSON.stringify(given)} ${reason}`);
}

async function withFile<T>(
  given: string,
  flags: number,
  work: (file: FileHandle) => Promise<T>,
): Promise<T> {
  try {
    const real = await inWorkspace(given);
    if (flags & constants.O_CREAT) await mkdir(path.dirname(real), { recursive: true });
    const file = await open(real, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o644);
    try {
      const facts = await file.stat();
      if (facts.isDirectory()) throw Object.assign(new Error('folder'), { code: 'EISDIR' });
      if (!facts.isFile())
        throw new ToolError(`path: ${JSON.stringify(given)} is not a regular file`);
      return await work(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw readable(given, error);
  }
}

/** Maximum size in bytes of a file that can be read as a whole. */
const maxReadBytes = 1024 * 1024;

export const readText = (given: string): Promise<string> =>
  withFile(given, constants.O_RDONLY, async file => {
    const { size } = await file.stat();
    if (size > maxReadBytes)
      throw new ToolError(
        `path: ${JSON.stringify(given)} has ${size} bytes; at most ${maxReadBytes} can be read. Read a part of it with shell, such as: head -c 10000 FILE`,
      );
    return await file.readFile('utf8');
  });

export const writeText = (given: string, text: string): Promise<void> =>
  withFile(
    given,
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
    async file => await file.writeFile(text),
  );

/** Resolves with the sorted names in a folder, folders with a trailing `/`; undefined if it is not a folder. */
export async function listFolder(given: string): Promise<readonly string[] | undefined> {
  const real = await inWorkspace(given);
  try {
    if (!(await stat(real)).isDirectory()) return undefined;
    const entries = await readdir(real, { withFileTypes: true });
    return entries.map(entry => `${entry.name}${entry.isDirectory() ? '/' : ''}`).toSorted();
  } catch (error) {
    throw readable(given, error);
  }
}
