// Reads and writes files below a folder without following links. On Linux each segment of a path is resolved from an
// open folder (/proc/self/fd), so that no folder can be replaced by a link in between.
import { constants as c } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';

const isLinux = process.platform === 'linux';
/** Suffix of the names of temporary files, which are renamed when they are complete. */
const unfinished = '.agenthub-tmp';

const fail = (code, message) => Object.assign(new Error(message), { code });

/** Splits a relative path into names. Throws EINVAL if the path is absolute, or contains `.`, `..`, `\` or NUL. */
function namesOf(path) {
  const names = path.split('/').filter(name => name !== '');
  const isPlain = !path.startsWith('/') && names.every(name => name !== '.' && name !== '..');
  if (isPlain && !/[\0\\]/.test(path)) return names;
  throw fail('EINVAL', `${JSON.stringify(path)} is not a path below the folder`);
}

const isAbsent = error => error.code === 'ENOENT';
/** True for the errors of opening a link or a file as a folder. */
const isNoFolder = error => ['ELOOP', 'ENOTDIR', 'EMLINK'].includes(error.code);

async function openDirectory(path) {
  if (!isLinux && !(await lstat(path)).isDirectory()) throw fail('ENOTDIR', 'it is not a folder');
  return await open(path, c.O_RDONLY | (c.O_DIRECTORY ?? 0) | (c.O_NOFOLLOW ?? 0));
}

export function openFolder(root) {
  const at = (handle, path, name) =>
    isLinux ? `/proc/self/fd/${handle.fd}/${name}` : `${path}/${name}`;

  /**
   * Opens the folder at a path of names, and calls `work` with it. A missing folder is created if `create` is set;
   * otherwise the result is undefined.
   */
  async function within(names, create, work) {
    let path = root;
    let handle = await openDirectory(root);
    try {
      for (const name of names) {
        const next = at(handle, path, name);
        let inner;
        try {
          inner = await openDirectory(next);
        } catch (error) {
          if (isNoFolder(error))
            throw fail('ELOOP', `${names.join('/')}: ${name} is a link or a file, not a folder`);
          if (!isAbsent(error)) throw error;
          if (!create) return undefined;
          await mkdir(next).catch(failure => {
            if (failure.code !== 'EEXIST') throw failure;
          });
          inner = await openDirectory(next);
        }
        await handle.close();
        handle = inner;
        path = `${path}/${name}`;
      }
      return await work(
        name => at(handle, path, name),
        isLinux ? `/proc/self/fd/${handle.fd}` : path,
      );
    } finally {
      await handle.close();
    }
  }

  const split = (folder, path) => {
    const names = namesOf(path);
    if (names.length === 0) throw fail('EINVAL', 'the path is empty');
    return { parents: [...namesOf(folder), ...names.slice(0, -1)], name: names.at(-1) };
  };

  const statusOf = (parents, name) =>
    within(parents, false, place =>
      lstat(place(name)).catch(error => {
        if (!isAbsent(error)) throw error;
        return undefined;
      }),
    );

  async function writeOne(folder, { path, content }, isNew) {
    const { parents, name } = split(folder, path);
    return await within(parents, true, async place => {
      const flags = c.O_WRONLY | c.O_CREAT | c.O_EXCL | (c.O_NOFOLLOW ?? 0);
      const temporary = place(isNew ? name : `.${name.slice(0, 200)}${unfinished}`);
      if (!isNew) await rm(temporary, { force: true });
      let file;
      try {
        file = await open(temporary, flags, 0o644);
      } catch (error) {
        if (isNew && error.code === 'EEXIST') return false;
        throw error;
      }
      try {
        await file.writeFile(Buffer.from(content, 'base64'));
        await file.sync();
      } finally {
        await file.close();
      }
      if (!isNew) await rename(temporary, place(name));
      return true;
    });
  }

  async function removeOne(folder, path) {
    const { parents, name } = split(folder, path);
    await within(parents, false, place =>
      unlink(place(name)).catch(error => {
        if (!isAbsent(error)) throw error;
      }),
    );
    // Remove parents that are now empty, but never the folder itself.
    const least = namesOf(folder).length;
    for (let count = parents.length; count > least; count--) {
      const isRemoved = await within(parents.slice(0, count - 1), false, place =>
        rmdir(place(parents[count - 1])).then(
          () => true,
          () => false,
        ),
      );
      if (isRemoved !== true) return;
    }
  }

  /** Yields path and status of all entries below a folder. `enters`: whether to list a folder. */
  async function* walk(names, prefix, enters = () => true) {
    const found = await within(names, false, async (place, self) => {
      const entries = await readdir(self, { withFileTypes: true });
      return await Promise.all(
        entries.map(async entry => ({
          name: entry.name,
          // The entry may have been removed since.
          status: await lstat(place(entry.name)).catch(() => undefined),
        })),
      );
    });
    for (const { name, status } of found ?? []) {
      if (status) yield { path: prefix + name, status };
      if (status?.isDirectory() && enters(prefix + name))
        yield* walk([...names, name], `${prefix}${name}/`, enters);
    }
  }

  return {
    root,
    /** Returns the inode of the folder, which identifies it. */
    async place() {
      const { ino } = await lstat(root, { bigint: true });
      return { inode: String(ino) };
    },
    walk: (folder, enters) => walk(namesOf(folder), '', enters),
    async read(folder, path, maxBytes) {
      const { parents, name } = split(folder, path);
      const content = await within(parents, false, async place => {
        let file;
        try {
          // Without O_NONBLOCK, opening a named pipe would block.
          file = await open(place(name), c.O_RDONLY | (c.O_NOFOLLOW ?? 0) | (c.O_NONBLOCK ?? 0));
        } catch (error) {
          if (isAbsent(error)) return undefined;
          if (isNoFolder(error)) throw fail('ELOOP', `${path} is a link`);
          throw error;
        }
        try {
          const status = await file.stat();
          if (!status.isFile()) throw fail('EINVAL', `${path} is not a regular file`);
          if (status.size > maxBytes)
            throw fail(
              'EFBIG',
              `${path} has ${status.size} bytes, and may have ${maxBytes}. Shorten it`,
            );
          const { buffer, bytesRead } = await file.read(Buffer.alloc(Number(status.size)));
          return buffer.toString('base64', 0, bytesRead);
        } finally {
          await file.close();
        }
      });
      return { content: content ?? null };
    },
    async write(folder, files, isNew) {
      let isWritten = true;
      for (const file of files) isWritten = (await writeOne(folder, file, isNew)) && isWritten;
      return { isWritten };
    },
    async remove(folder, paths) {
      for (const path of paths) await removeOne(folder, path);
    },
    /** Removes a folder and everything in it. Links in it are removed, not followed. */
    async removeFolder(folder) {
      const { parents, name } = split('', folder);
      await within(parents, false, place => rm(place(name), { recursive: true, force: true }));
    },
    /**
     * Returns the paths that prevent creating new files: existing files, and files or links in place of their folders.
     */
    async obstacles(folder, paths) {
      const found = new Set();
      for (const path of paths) {
        const { parents, name } = split(folder, path);
        const least = namesOf(folder).length;
        for (let count = least; count < parents.length; count++) {
          const status = await statusOf(parents.slice(0, count), parents[count]);
          if (status?.isDirectory()) continue;
          if (status) found.add(parents.slice(least, count + 1).join('/'));
          break;
        }
        if (await statusOf(parents, name).catch(() => undefined)) found.add(path); // A parent is a link or a file.
      }
      return { paths: [...found] };
    },
    /** Names of the folders in a folder. Links are omitted. */
    async folders(folder) {
      const found = await within(namesOf(folder), false, (_, self) =>
        readdir(self, { withFileTypes: true }),
      );
      const names = (found ?? []).filter(entry => entry.isDirectory()).map(({ name }) => name);
      return { names };
    },
    async list(folder, max) {
      const files = [];
      for await (const { path, status } of walk(namesOf(folder), '')) {
        if (!status.isFile() || path.endsWith(unfinished)) continue;
        if (files.length >= max) throw fail('EFBIG', `there are more than ${max} files`);
        files.push({ path, bytes: status.size, changedAt: Math.round(status.mtimeMs) });
      }
      return { files };
    },
  };
}
