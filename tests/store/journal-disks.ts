import type { JournalDisk } from '#store';

/** File with its written bytes, and the part of them that survives a power failure. */
type Content = { written: Buffer; synced: Buffer };

const fullDisk = () =>
  Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });

/** Creates a disk in memory that fails at a chosen operation, and can show its content after each kind of crash. */
export function createFaultyDisk(files: Readonly<Record<string, Buffer>> = {}) {
  const names = new Map<string, Content>(
    Object.entries(files).map(([path, bytes]) => [path, { written: bytes, synced: bytes }]),
  );
  /** Names of files that survive a power failure. */
  let syncedNames = new Map(names);
  let operations = 0;
  let failsAt = Infinity;
  let failsUntil = Infinity;
  const done: string[] = [];

  const step = (name: string) => {
    operations++;
    if (operations >= failsAt && operations < failsUntil) throw fullDisk();
    done.push(name);
  };

  const disk: JournalDisk = {
    read: async path => names.get(path)?.written,
    async open(path, flags) {
      step(`open ${flags}`);
      const content = names.get(path) ?? { written: Buffer.alloc(0), synced: Buffer.alloc(0) };
      names.set(path, content);
      if (flags === 'w') content.written = Buffer.alloc(0);
      return {
        async write(bytes) {
          const isFailing = operations + 1 >= failsAt && operations + 1 < failsUntil;
          // A failing write may still have written a part.
          const part = isFailing ? bytes.subarray(0, Math.floor(bytes.length / 2)) : bytes;
          content.written = Buffer.concat([content.written, part]);
          step('write');
        },
        async sync() {
          step('sync');
          content.synced = content.written;
        },
        async close() {},
      };
    },
    async rename(from, to) {
      step('rename');
      const content = names.get(from);
      if (!content) throw new Error(`there is no ${from}`);
      names.delete(from);
      names.set(to, content);
    },
    async syncFolder() {
      step('syncFolder');
      syncedNames = new Map(names);
    },
  };
  return {
    disk,
    /** Names of the operations that succeeded. */
    done,
    /** Makes operation number `from`, counted from now, and the following ones fail; `times` of them, or all. */
    fail(from: number, times = Infinity) {
      failsAt = operations + from;
      failsUntil = failsAt + times;
    },
    /** Returns the disk after a kill of the hub: it contains everything written. */
    afterKill: () =>
      createFaultyDisk(
        Object.fromEntries([...names].map(([path, { written }]) => [path, written])),
      ),
    /** Returns the disk after a power failure: it contains only synced bytes under synced names. */
    afterPowerFailure: () =>
      createFaultyDisk(
        Object.fromEntries([...syncedNames].map(([path, { synced }]) => [path, synced])),
      ),
    sizeOf: (path: string) => names.get(path)?.written.length ?? 0,
    textOf: (path: string) => names.get(path)?.written.toString(),
  };
}
