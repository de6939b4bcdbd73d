import { type Clock, createEmitter, createTicker } from '#core';
import { type LogBounds, usualBounds } from './log-types.ts';
import { type SourceLog, createSourceLog } from './source-log.ts';
import {
  type RunLogQuery,
  type SourceLine,
  readSources,
  runFilesOf,
  storedServers,
} from './stored-logs.ts';

/** The logs of all servers and of the hub by run, stored on disk within limits. */
export type Logs = ReturnType<typeof createLogs>;

type Needs = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly redact: (text: string) => string;
  /** Reports once that lines cannot be written, until writing works again. */
  readonly warn: (error: unknown) => void;
};

const goneMs = 7 * 24 * 3_600_000;

/** Creates the logs in `folder`, which the first line creates. Only one hub may use the folder. */
export function createLogs(folder: string, needs: Needs, bounds: LogBounds = usualBounds) {
  const { clock } = needs;
  const filesOf = (server: string | undefined) => runFilesOf(folder, server, bounds);
  const added = createEmitter<SourceLine>();
  const stored = new Map<string | undefined, number>();
  const sources = new Map<string | undefined, SourceLog>();
  const unwritten = new Set<SourceLog>();
  let isFailing = false;

  const due = createTicker(clock, bounds.writeMs, () => {
    void writeAll();
    return false;
  });

  async function writeAll(): Promise<void> {
    const wanted = [...unwritten];
    unwritten.clear();
    await Promise.all(wanted.map(source => source.write()));
  }

  function sourceOf(server: string | undefined): SourceLog {
    const known = sources.get(server);
    if (known) return known;
    const source: SourceLog = createSourceLog(filesOf(server), stored.get(server) ?? 0, {
      clock,
      bounds,
      redact: needs.redact,
      added: line => added.fire({ ...line, server }),
      pending() {
        unwritten.add(source);
        due.start();
      },
      failed(error) {
        if (!isFailing) needs.warn(error);
        isFailing = true;
      },
      written: () => (isFailing = false),
    });
    sources.set(server, source);
    return source;
  }

  async function find(server: string | undefined): Promise<void> {
    const runs = await filesOf(server).runs();
    stored.set(server, runs.at(-1) ?? 0);
  }

  async function removeGone(gone: readonly string[]): Promise<void> {
    for (const name of gone) {
      const files = filesOf(name);
      if (clock.now() - (await files.lastWrite()) <= goneMs) continue;
      await files.remove();
      stored.delete(name);
    }
  }

  return {
    /** Finds the stored runs, and removes logs of servers that left the config a week ago. Call this first. */
    async open(servers: readonly string[]): Promise<void> {
      try {
        const names = await storedServers(folder);
        // Including servers that are no longer in the config: they may return while the hub runs.
        await Promise.all([undefined, ...names].map(find));
        await removeGone(names.filter(name => !servers.includes(name)));
      } catch (error) {
        needs.warn(error);
      }
    },
    server: (name: string): SourceLog => sourceOf(name),
    get hub(): SourceLog {
      return sourceOf(undefined);
    },
    /** Fires with each added line, unredacted. */
    added: added.event,
    /**
     * Reads redacted lines of several sources, merged by time, the oldest first. Rejects if a file cannot be read.
     * `cut` is called for each source: lines added after it are not included.
     */
    read: async (
      query: RunLogQuery,
      cut: (server: string | undefined) => void = () => {},
    ): Promise<readonly SourceLine[]> =>
      await readSources(query, server => sourceOf(server).read(query.back, () => cut(server))),
    /** Returns the stored runs of a server, or of the hub, the newest first. */
    runs: async (server: string | undefined) => await sourceOf(server).runs(),
    /** Deletes the stored log of a server. Never rejects. */
    async forget(server: string): Promise<void> {
      const source = sourceOf(server);
      sources.delete(server);
      stored.delete(server);
      unwritten.delete(source);
      await source.remove().catch(needs.warn);
    },
    async stop(): Promise<void> {
      due[Symbol.dispose]();
      sources.get(undefined)?.end('the hub was stopped');
      // Writes all sources, as one whose write has started is no longer in `unwritten`.
      await Promise.all(Array.from(sources.values(), source => source.write()));
    },
  };
}
