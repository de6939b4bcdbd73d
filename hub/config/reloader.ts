import { type Clock, type Log, HubError, messageOf } from '#core';
import { type FileWatch, type WatchTiming, createFileWatch } from './file-watch.ts';
import type { FileReading, FileSnapshot, ReadText } from './files.ts';

export type ReloaderNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly readText?: ReadText | undefined;
};

type Handlers<Content extends object, Outcome> = ReloaderNeeds & {
  /** Reads the files. If it rejects, the reload is refused. */
  readonly read: () => Promise<FileReading<Content>>;
  /** `isChanged` is true if the content of the first file differs from before, or was not valid before. */
  readonly apply: (
    content: Content,
    change: { isChanged: boolean; wasRefused: boolean },
  ) => Outcome;
  readonly refused: (error: HubError) => Outcome;
  /** Log message for content that is not valid. */
  readonly invalidMessage: string;
};

/** Reads files again when they change, from `start` to `stop`, or on request. Logs invalid content and ignores it. */
export function createReloader<Content extends object, Outcome>(
  firstFiles: readonly FileSnapshot[],
  timing: WatchTiming,
  { read, apply, refused, invalidMessage, clock, log, readText }: Handlers<Content, Outcome>,
) {
  let files = firstFiles;
  /** Why the current files are not applied, and since when. */
  let refusal: { readonly at: number; readonly message: string } | undefined;
  let running: Promise<Outcome> | undefined;
  let next: Promise<Outcome> | undefined;
  let watch: FileWatch | undefined;

  /** Reads and applies the files. `seen` has the snapshots of the file watch, if it triggered the load. */
  async function load(seen: readonly FileSnapshot[]): Promise<Outcome> {
    const reading = await read().catch((error: unknown) => ({
      files: [],
      error:
        error instanceof HubError
          ? error
          : new HubError('HUB_INTERNAL', messageOf(error), { cause: error }),
    }));
    const [before] = files;
    if (reading.error && isOvertaken(reading.files, seen)) {
      // The file changed again during the read: wait until the writer is done, and compare with the older snapshot.
      await watch?.follow(files);
      return refused(reading.error);
    }
    if (reading.files.length > 0) {
      files = reading.error ? reading.files.map(withGoodLength) : reading.files;
      await watch?.follow(files);
    }
    if (reading.error) return refuse(reading.error);
    const wasRefused = refusal !== undefined;
    refusal = undefined;
    return apply(reading, {
      isChanged: wasRefused || files[0]?.digest !== before?.digest,
      wasRefused,
    });
  }

  /**
   * Keeps the length of the last valid text, because the length of an invalid one cannot show if the next is truncated.
   */
  function withGoodLength(seen: FileSnapshot): FileSnapshot {
    const before = files.find(({ path }) => path === seen.path);
    return before ? { ...seen, length: before.length } : seen;
  }

  function refuse(error: HubError): Outcome {
    // Report an unchanged error only once, not at every check.
    if (refusal?.message !== error.message) {
      refusal = { at: clock.now(), message: error.message };
      log.error({ error: error.message }, invalidMessage);
    }
    return refused(error);
  }

  function run(seen: readonly FileSnapshot[] = []): Promise<Outcome> {
    const result = load(seen).finally(() => {
      if (running === result) running = undefined;
    });
    running = result;
    return result;
  }

  function reload(seen?: readonly FileSnapshot[]): Promise<Outcome> {
    if (next) return next;
    if (!running) return run(seen);
    next = running.then(() => {
      next = undefined;
      return run();
    });
    return next;
  }

  return {
    status: () => ({
      /** Absolute paths of the watched files, the config file first. */
      files: files.map(({ path }) => path),
      ...(refusal && { error: refusal }),
    }),
    service: {
      /**
       * Reads the files again. Reads do not overlap: calls during a read share one more read after it. Never rejects.
       */
      reload: () => reload(),
      async start(_signal: AbortSignal) {
        const onChange = async (seen: readonly FileSnapshot[]) => void (await reload(seen));
        watch = createFileWatch(timing, { clock, log, readText, onChange });
        await watch.follow(files);
      },
      async stop() {
        await watch?.[Symbol.asyncDispose]();
        watch = undefined;
        await next;
        await running;
      },
    },
  };
}

/** True if a file changed between the snapshot of the file watch and this read. */
const isOvertaken = (read: readonly FileSnapshot[], seen: readonly FileSnapshot[]) =>
  seen.some(({ path, digest }) => read.some(one => one.path === path && one.digest !== digest));
