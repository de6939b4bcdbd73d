import { caller } from '#helpers/principal';
import type { Session } from '#routing';
import { createSavedSessions, createSessionIds } from '#transports';
import type { Clock } from '#core';
import type { HttpResponse } from '../../hub/transports/http-message.ts';

/** Creates a session that answers nothing and records the reasons of its closing. */
export function createScriptedSession(protocolVersion = '2025-11-25') {
  const closed: string[] = [];
  const session: Session = {
    principal: caller,
    protocolVersion,
    accept: async () => undefined,
    save: () => ({ logLevel: undefined, subscriptions: [] }),
    close: reason => void closed.push(reason),
  };
  return { session, closed };
}

/** Creates the lines of a journal, which several runs of a hub share. */
export const createDisk = () => ({ lines: new Array<string>(), closed: 0 });
type Disk = ReturnType<typeof createDisk>;

/** Opens the saved sessions of a run of the hub, with a journal in memory. */
export async function openSaved(
  disk: Disk,
  {
    clock,
    idleMs,
    maxSessions = 100,
    listed = Promise.resolve(),
  }: {
    readonly clock: Clock;
    readonly idleMs: number;
    readonly maxSessions?: number;
    readonly listed?: Promise<void>;
  },
) {
  const saved = createSavedSessions(
    { idleMs, maxSessions },
    {
      clock,
      ids: createSessionIds({
        secret: Buffer.alloc(32),
        hubId: 'hub',
        credentialOf: () => undefined,
      }),
      listed,
      openJournal: () => ({
        open: async () => disk.lines.map(line => JSON.parse(line)),
        append: async record => disk.lines.push(JSON.stringify(record)) > 0,
        close: async () => void disk.closed++,
      }),
    },
  );
  await saved.start(new AbortController().signal);
  return saved;
}

/** Creates an HTTP response that records what is written to it. */
export function createRecordingResponse() {
  let text = '';
  let isOver = false;
  const closed: (() => void)[] = [];
  const over = (): void => {
    isOver = true;
    for (const listener of closed.splice(0)) listener();
  };
  const response: HttpResponse = {
    headersSent: false,
    get destroyed() {
      return isOver;
    },
    writableLength: 0,
    writeHead: () => response,
    flushHeaders() {},
    write(chunk) {
      text += String(chunk);
      return true;
    },
    end: over,
    cork() {},
    uncork() {},
    setTimeout() {},
    destroy: over,
    on: (_event, listener) => void closed.push(listener),
    once: (_event, listener) => void closed.push(listener),
  };
  return { response, text: () => text, isOver: () => isOver };
}
