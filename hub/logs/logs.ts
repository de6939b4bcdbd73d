import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Event, type Service, createEmitter, createTicker } from '#core';
import { type LogBounds, type LogLine, type LogRun, usualBounds } from './log-types.ts';
import { createRunFiles } from './run-files.ts';
import { type SourceLog, createSourceLog } from './source-log.ts';

/** A line and whose it is. `server` is undefined for the hub's own. */
export type SourceLine = LogLine & { readonly server: string | undefined };

export type RunLogQuery = {
  readonly servers: readonly string[];
  /** Whether the hub's own lines are wanted, too. */
  readonly isHubWanted: boolean;
  /** Which run: 0 is the newest, 1 the one before. */
  readonly back: number;
  /** Maximum number of lines, the newest. Beginnings and ends of runs count as lines. */
  readonly lines: number;
};

/** The logs of all servers and of the hub, by runs, on the disk within bounds. */
export type Logs = Omit<Service, 'start'> & {
  /** Reads which runs are stored, and removes logs of servers that have been gone for a week. Await it first. */
  open(servers: readonly string[]): Promise<void>;
  server(name: string): SourceLog;
  readonly hub: SourceLog;
  /** Lines as they are added, unredacted. */
  readonly added: Event<SourceLine>;
  /**
   * Merged by time, oldest first. Redacted. Rejects if a file cannot be read. `cut` is called for each source: lines that
   * are added later are not among those read.
   */
  read(
    query: RunLogQuery,
    cut?: (server: string | undefined) => void,
  ): Promise<readonly SourceLine[]>;
  /** The stored runs of a server, or of the hub, newest first. */
  runs(server: string | undefined): Promise<readonly LogRun[]>;
  /** Removes what is stored of a server. Never rejects. */
  forget(server: string): Promise<void>;
};

type Needs = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly redact: (text: string) => string;
  /** Tells once that lines cannot be written, until they can be again. */
  readonly warn: (error: unknown) => void;
};

const goneMs = 7 * 24 * 3_600_000;

/** `folder` is created by the first line. Only one hub may use it. */
export function createLogs(folder: string, needs: Needs, bounds: LogBounds = usualBounds): Logs {
  const { clock } = needs;
  const serversFolder = join(folder, 'servers');
  const folderOf = (server: string | undefined) =>
    server === undefined ? join(folder, 'hub') : join(serversFolder, server);
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
    const files = createRunFiles(folderOf(server), bounds);
    const source: SourceLog = createSourceLog(files, stored.get(server) ?? 0, {
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
    const runs = await createRunFiles(folderOf(server), bounds).runs();
    stored.set(server, runs.at(-1) ?? 0);
  }

  /** The servers whose logs are stored. */
  async function storedServers(): Promise<readonly string[]> {
    const found = await readdir(serversFolder, { withFileTypes: true }).catch(() => []); // Nothing is stored yet.
    return found.filter(one => one.isDirectory()).map(({ name }) => name);
  }

  async function removeGone(gone: readonly string[]): Promise<void> {
    for (const name of gone) {
      const lastMs = await createRunFiles(folderOf(name), bounds).lastWrite();
      if (clock.now() - lastMs <= goneMs) continue;
      await rm(folderOf(name), { recursive: true });
      stored.delete(name);
    }
  }

  return {
    async open(servers) {
      try {
        const names = await storedServers();
        // Including servers that are no longer in the config: they may return while the hub runs.
        await Promise.all([undefined, ...names].map(find));
        await removeGone(names.filter(name => !servers.includes(name)));
      } catch (error) {
        needs.warn(error);
      }
    },
    server: sourceOf,
    get hub() {
      return sourceOf(undefined);
    },
    added: added.event,
    async read({ servers, isHubWanted, back, lines: most }, cut = () => {}) {
      const wanted = [...servers, ...(isHubWanted ? [undefined] : [])];
      const found = await Promise.all(
        wanted.map(async server => {
          const lines = await sourceOf(server).read(back, () => cut(server));
          return lines.slice(-most).map(line => ({ ...line, server }));
        }),
      );
      const merged = found.flat().toSorted((a, b) => a.at - b.at);
      return most === 0 ? [] : merged.slice(-most);
    },
    runs: async server => await sourceOf(server).runs(),
    async forget(server) {
      const source = sourceOf(server);
      sources.delete(server);
      stored.delete(server);
      unwritten.delete(source);
      await source.remove().catch(needs.warn);
    },
    async stop() {
      due[Symbol.dispose]();
      sources.get(undefined)?.end('the hub was stopped');
      // All sources: one whose write has begun is no longer in `unwritten`.
      await Promise.all(Array.from(sources.values(), source => source.write()));
    },
  };
}
