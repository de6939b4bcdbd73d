import { constants } from 'node:fs';
import { open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { HubError, errorCodeOf } from '#core';
import type { AgentFile, AgentFileContent, AgentFiles } from './agent-types.ts';

/** Maximum number of listed files. */
const maxFiles = 10_000;
const chunkBytes = 64 * 1024;

/** Reads the workspaces of agents. `workspaceOf`: the folder of an agent; throws HubError for an unknown one. */
export function createAgentFiles(workspaceOf: (id: string) => string): AgentFiles {
  return {
    async list(id) {
      const root = await realpath(workspaceOf(id)).catch(noneIfGone);
      if (root === undefined) return [];
      const files: AgentFile[] = [];
      const folders = [root];
      for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
        await using opened = await openFolder(folder);
        if (!opened) continue;
        for (const entry of await readdir(opened.path, { withFileTypes: true })) {
          const path = join(folder, entry.name);
          if (entry.isDirectory()) folders.push(path);
          if (!entry.isFile() || files.length >= maxFiles) continue;
          const found = await describe(join(opened.path, entry.name));
          if (found) files.push({ path: relative(root, path).split(sep).join('/'), ...found });
        }
      }
      return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    },
    async open(id, path) {
      const root = workspaceOf(id);
      const unknown = (cause?: unknown) =>
        new HubError(
          'HUB_AGENT_FILE_UNKNOWN',
          `path: ${JSON.stringify(path.slice(0, 200))} is not a regular file in the workspace of ${id}. List its files, and use one of these paths`,
          { cause },
        );
      const parts = path.split('/');
      if (parts.some(part => part === '' || part === '.' || part === '..' || part.includes('\0')))
        throw unknown();
      try {
        // The agent may change the folders meanwhile, so the opened file is checked, not its path.
        const handle = await open(
          join(root, ...parts),
          constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
        );
        try {
          const place = await realpath(`/proc/self/fd/${handle.fd}`).catch(() =>
            realpath(join(root, ...parts)),
          );
          const facts = await handle.stat();
          const base = `${await realpath(root)}${sep}`;
          if (!facts.isFile() || facts.nlink > 1 || !place.startsWith(base)) throw unknown();
          return contentOf(handle, facts.size);
        } catch (error) {
          await handle.close();
          throw error;
        }
      } catch (error) {
        throw error instanceof HubError ? error : unknown(error);
      }
    },
  };
}

function contentOf(handle: Awaited<ReturnType<typeof open>>, bytes: number): AgentFileContent {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    // Bytes that are appended while the file is read are left out: the response has announced its length.
    for (let at = 0; at < bytes;) {
      const size = Math.min(chunkBytes, bytes - at);
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(size), 0, size, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }
  return { bytes, chunks: chunks(), [Symbol.asyncDispose]: () => handle.close() };
}

/**
 * Opens a folder whose path has no links. Undefined if it is missing, unreadable or a link, or if its path is too long for
 * the system. `path` leads to the opened folder, even if the agent replaces the folder meanwhile.
 */
async function openFolder(folder: string) {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(noneIfGone);
  if (!handle) return undefined;
  const own = `/proc/self/fd/${handle.fd}`;
  const opened = await readlink(own).catch(() => undefined); // Only Linux has it.
  if ((opened ?? (await realpath(folder).catch(noneIfGone))) === folder)
    return {
      path: opened === undefined ? folder : own,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  await handle.close();
  return undefined;
}

function noneIfGone(error: unknown): undefined {
  const codes = ['ENOENT', 'EACCES', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
  if (!codes.includes(errorCodeOf(error) ?? '')) throw error;
}

async function describe(path: string) {
  try {
    await using handle = await open(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    const { size, mtimeMs } = await handle.stat();
    return { bytes: size, changedAt: mtimeMs };
  } catch {
    return undefined; // Removed meanwhile, or not readable.
  }
}
