import type { JournalDisk } from '#store';

/** A file: what was written to it, and what of that a power failure leaves. */
type Content = { written: Buffer; synced: Buffer };

const fullDisk = () =>
  Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });

/** A disk in memory that fails at a chosen operation, and tells what each kind of crash leaves on it. */
export function createFaultyDisk(files: Readonly<Record<string, Buffer>> = {}) {
  const names = new Map<string, Content>(
    Object.entries(files).map(([path, bytes]) => [path, { written: bytes, synced: bytes }]),
  );
  /** The names as a power failure leaves them. */
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
          // A write that fails may have written a part.
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
    /** The operations that succeeded. */
    done,
    /** Fails from this operation on, counted from now; `times` operations, or all. */
    fail(from: number, times = Infinity) {
      failsAt = operations + from;
      failsUntil = failsAt + times;
    },
    /** A disk after the hub was killed: everything written is there. */
    afterKill: () =>
      createFaultyDisk(
        Object.fromEntries([...names].map(([path, { written }]) => [path, written])),
      ),
    /** A disk after a power failure: only synced bytes under synced names are there. */
    afterPowerFailure: () =>
      createFaultyDisk(
        Object.fromEntries([...syncedNames].map(([path, { synced }]) => [path, synced])),
      ),
    sizeOf: (path: string) => names.get(path)?.written.length ?? 0,
    textOf: (path: string) => names.get(path)?.written.toString(),
  };
}
