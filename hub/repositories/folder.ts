import { z } from 'zod';
import { HubError } from '#core';
import type { Driver } from './driver.ts';
import { pathFault } from './path-guard.ts';
import type { FileContent, SafeFolder } from './repository-types.ts';

const timeoutMs = 30_000;
const mib = 2 ** 20;
const maxReadBytes = 16 * mib;
/** Maximum number of content bytes in one request to the driver. */
const maxWriteBytes = 16 * mib;
const maxFiles = 100_000;
const none = z.object({});
const listSchema = z.object({
  files: z.array(z.object({ path: z.string() }).transform(({ path }) => path)),
});

/**
 * File operations of the driver in a folder, whose path is relative to the root of the driver. Paths are not checked
 * here.
 */
export function createDriverFolder(driver: Driver, folder: string) {
  const request = <T>(
    method: string,
    params: Readonly<Record<string, unknown>>,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ) => driver.request({ method, params: { folder, ...params }, timeoutMs }, schema, signal);

  async function write(files: readonly FileContent[], isNew: boolean, signal: AbortSignal) {
    const encoded = files.map(({ path, content }) => {
      const bytes = Buffer.from(content);
      if (bytes.length > maxWriteBytes)
        throw new HubError('HUB_REPOSITORY_LIMIT', `${path} exceeds ${maxWriteBytes} bytes`);
      return { path, bytes: bytes.length, content: bytes.toString('base64') };
    });
    let isWritten = true;
    for (const part of inParts(encoded)) {
      const schema = z.object({ isWritten: z.boolean() });
      const params = { files: part.map(({ path, content }) => ({ path, content })), isNew };
      const answer = await request('write', params, schema, signal);
      isWritten &&= answer.isWritten;
    }
    return isWritten;
  }

  return {
    async read(path: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined> {
      const schema = z.object({ content: z.base64().nullable() });
      const params = { path, maxBytes: Math.min(maxBytes, maxReadBytes) };
      const { content } = await request('read', params, schema, signal);
      return content === null ? undefined : Buffer.from(content, 'base64');
    },
    write,
    remove: async (paths: readonly string[], signal: AbortSignal): Promise<void> =>
      void (await request('remove', { paths }, none, signal)),
    list: async (signal: AbortSignal) =>
      (await request('list', { max: maxFiles }, listSchema, signal)).files,
    /** Returns paths of existing files and links that are in the way of new files. */
    obstacles: async (paths: readonly string[], signal: AbortSignal) =>
      (await request('obstacles', { paths }, z.object({ paths: z.array(z.string()) }), signal))
        .paths,
    /** Returns the names of the folders in this folder. */
    folders: async (signal: AbortSignal) =>
      (await request('folders', {}, z.object({ names: z.array(z.string()) }), signal)).names,
    /** Removes the folder with all its content. */
    removeAll: async (signal: AbortSignal): Promise<void> =>
      void (await request('removeFolder', {}, none, signal)),
  };
}

/** Splits files into parts that fit into one request. */
function inParts<T extends { readonly bytes: number }>(files: readonly T[]): readonly T[][] {
  const parts: T[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    if (bytes + file.bytes > maxWriteBytes) {
      parts.push([]);
      bytes = 0;
    }
    bytes += file.bytes;
    parts.at(-1)?.push(file);
  }
  return parts;
}

/** Creates the operations on a folder for other rooms, with checked paths. `prepare` is awaited before each write. */
export function createSafeFolder(
  driver: Driver,
  folder: string,
  prepare: (signal: AbortSignal) => Promise<void> = async () => {},
): SafeFolder {
  const inner = createDriverFolder(driver, folder);
  return {
    async read(path, maxBytes, signal) {
      requirePlain([path]);
      return await inner.read(path, maxBytes, signal);
    },
    async write(files, signal) {
      requirePlain(files.map(({ path }) => path));
      await prepare(signal);
      await inner.write(files, false, signal);
    },
    async create(file, signal) {
      requirePlain([file.path]);
      await prepare(signal);
      return await inner.write([file], true, signal);
    },
    async remove(paths, signal) {
      requirePlain(paths);
      await inner.remove(paths, signal);
    },
    list: inner.list,
  };
}

/** Throws HUB_PATH_REFUSED for a path that could lead out of the folder or into a git folder. */
function requirePlain(paths: readonly string[]): void {
  for (const path of paths) {
    const fault = pathFault(path);
    if (fault !== undefined)
      throw new HubError(
        'HUB_PATH_REFUSED',
        `the path ${JSON.stringify(path.slice(0, 200))} ${fault}`,
      );
  }
}
